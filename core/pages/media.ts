import { type Content, html, type View } from './html.ts'

export interface MediaItem {
  id: string
  url: string
  kind: 'image' | 'video'
  width: number
  height: number
}

/** Images and videos of one subject in the given order; each opens separately. */
export const MediaGallery = ({ items, title }: { items: readonly MediaItem[]; title: string }): View => html`
  <ul class="gallery">${items.map((item, index) => {
    const name = `${item.kind === 'video' ? 'Video' : 'Picture'} ${index + 1} of ${title}`
    return html`<li>${
      item.kind === 'video'
        ? html`<video src=${item.url} width=${item.width} height=${item.height} controls preload="metadata" playsinline aria-label=${name}></video>`
        : html`<a href=${item.url}><img src=${item.url} width=${item.width} height=${item.height} alt=${name} loading="lazy" decoding="async" /></a>`
    }</li>`
  })}</ul>`

/** The editable list of the same media, with actions for each item. */
export const MediaShelf = ({
  items,
  actions,
}: {
  items: readonly MediaItem[]
  actions: (item: MediaItem, index: number) => Content
}): View => html`
  <ul class="shelf">${items.map(
    (item, index) => html`<li>
      <span class="shelf-picture">${
        item.kind === 'video'
          ? html`<video src=${`${item.url}#t=0.1`} preload="metadata" muted playsinline tabindex="-1" aria-hidden="true"></video>`
          : html`<img src=${item.url} alt="" loading="lazy" decoding="async" />`
      }</span>
      <span class="shelf-note">${item.kind === 'video' ? 'Video' : 'Picture'} ${index + 1} · ${item.width} × ${item.height}</span>
      <span class="row">${actions(item, index)}</span>
    </li>`,
  )}</ul>`

export interface StepIndicatorProps {
  /** The goal of the steps, for screen readers: "Publish a game". */
  label: string
  steps: readonly string[]
  /** Index of the current step. */
  current: number
}

/** Shows the current position in a process of a few pages. */
export const StepIndicator = ({ label, steps, current }: StepIndicatorProps): View => html`
  <ol class="trail" aria-label=${label}>${steps.map(
    (step, index) =>
      html`<li class=${index < current ? 'done' : undefined} aria-current=${index === current ? 'step' : undefined}>${step}${index < current && html`<span class="visually-hidden"> (done)</span>`}</li>`,
  )}</ol>`

/** The code is dark on light in every colour scheme, because many readers support only this. */
export const QrPicture = ({ width, path, label }: { width: number; path: string; label: string }): View => html`
  <svg class="qr" viewBox=${`0 0 ${width} ${width}`} role="img" aria-label=${label} shape-rendering="crispEdges">
    <rect width=${width} height=${width} fill="#fff" /><path d=${path} fill="#000" />
  </svg>`

const MESSAGE = 'service:no-storage'

/**
 * Offers the game's own address when the browser denies storage to its frame (clients/browser/frame/denied-storage.ts).
 * The frame may have loaded before this script, so it is asked.
 */
export function offerOwnPage(place: HTMLElement, frame: HTMLIFrameElement): void {
  const note = place.querySelector<HTMLElement>('[data-no-storage]')
  if (!note) return
  addEventListener('message', ({ source, data }) => {
    if (source === frame.contentWindow && data?.type === MESSAGE) note.hidden = false
  })
  frame.contentWindow?.postMessage({ type: MESSAGE }, '*')
}

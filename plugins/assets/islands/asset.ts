/**
 * Shows the model in place of its picture, and plays its clips there. Without this script the picture and links remain.
 */
const LOADING = 'Loading…'
const stage = document.querySelector<HTMLElement>('[data-viewer]')
const status = document.querySelector<HTMLElement>('[data-viewer-status]')

async function show(stage: HTMLElement): Promise<void> {
  const { viewer: script = '', src = '', alt = '', decoders = '' } = stage.dataset
  stage.toggleAttribute('data-loading', true)
  const { createViewer } = (await import(script)) as typeof import('./model-viewer.ts')
  const viewer = createViewer({ src, alt, decoders: JSON.parse(decoders) })
  const say = (text: string) => {
    if (status) status.textContent = text
    stage.toggleAttribute('data-loading', text === LOADING)
  }
  viewer.addEventListener('load', () => {
    stage.querySelector('img')?.remove()
    stage.dataset.shown = viewer.getAttribute('src') ?? ''
    viewer.play()
    say('')
  })
  viewer.addEventListener('error', () => say('This browser could not show the model. The download still works.'))
  say(LOADING)
  stage.append(viewer)
  for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-show]')) {
    button.hidden = false
    button.addEventListener('click', () => {
      for (const other of document.querySelectorAll('button[data-show]')) other.removeAttribute('aria-pressed')
      button.setAttribute('aria-pressed', 'true')
      // The player must see the animation.
      stage.scrollIntoView({ block: 'nearest' })
      say(LOADING)
      viewer.setAttribute('src', button.dataset.show ?? src)
    })
  }
}

if (stage) {
  show(stage).catch(() => {
    stage.removeAttribute('data-loading')
    if (status) status.textContent = 'The viewer could not be started in this browser.'
  })
}

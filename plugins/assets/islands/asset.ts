/**
 * Shows the model in place of its picture, and plays its clips there. Without this script the picture and links remain.
 */
interface Viewer extends HTMLElement {
  src: string
  animationName: string | null
  play(): void
}

const LOADING = 'Loading…'
const stage = document.querySelector<HTMLElement>('[data-viewer]')
const status = document.querySelector<HTMLElement>('[data-viewer-status]')

async function show(stage: HTMLElement): Promise<void> {
  const { viewer: script = '', src = '', alt = '' } = stage.dataset
  stage.toggleAttribute('data-loading', true)
  await import(script)
  const viewer = document.createElement('model-viewer') as Viewer
  for (const [name, value] of Object.entries({
    src,
    alt,
    'camera-controls': '',
    autoplay: '',
    'shadow-intensity': '0.7',
  }))
    viewer.setAttribute(name, value)
  viewer.setAttribute('interaction-prompt', 'none')
  // The library has its own buttons for augmented reality, which the platform does not offer. They would still be
  // reachable by keyboard. The library's progress messages are replaced by those below.
  for (const slot of ['ar-button', 'exit-webxr-ar-button', 'progress-bar']) {
    const nothing = document.createElement('span')
    nothing.slot = slot
    viewer.append(nothing)
  }
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

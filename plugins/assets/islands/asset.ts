import type { Viewer } from './model-viewer.ts'

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
  const controls = addControls(stage, viewer)
  let isWanted = false
  viewer.addEventListener('load', () => {
    stage.querySelector('img')?.remove()
    stage.dataset.shown = viewer.getAttribute('src') ?? ''
    controls.renew(isWanted)
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
      const shown = button.dataset.show ?? src
      isWanted = shown.includes('/animation/')
      viewer.setAttribute('src', shown)
    })
  }
}

/**
 * Adds a button that stops and starts the animation, and a choice of the clips of the model. Where the player prefers
 * reduced motion, nothing moves that they have not asked for (WCAG 2.2.2).
 */
function addControls(stage: HTMLElement, viewer: Viewer): { renew(isWanted: boolean): void } {
  const row = document.createElement('div')
  row.className = 'row stage-controls'
  const button = document.createElement('button')
  button.className = 'button small'
  button.type = 'button'
  const select = document.createElement('select')
  select.className = 'control'
  select.setAttribute('aria-label', 'Animation')
  row.append(button, select)
  row.hidden = true
  stage.append(row)
  const label = () => {
    button.textContent = viewer.paused ? 'Play the animation' : 'Pause the animation'
  }
  button.addEventListener('click', () => {
    if (viewer.paused) viewer.play()
    else viewer.pause()
    label()
  })
  select.addEventListener('change', () => {
    viewer.animationName = select.value
    viewer.play()
    label()
  })
  return {
    renew(isWanted) {
      const names = viewer.availableAnimations
      row.hidden = names.length === 0
      select.hidden = names.length < 2
      select.replaceChildren(...names.map((name) => new Option(name, name)))
      if (!isWanted && matchMedia('(prefers-reduced-motion: reduce)').matches) viewer.pause()
      else viewer.play()
      label()
    },
  }
}

if (stage) {
  show(stage).catch(() => {
    stage.removeAttribute('data-loading')
    if (status) status.textContent = 'The viewer could not be started in this browser.'
  })
}

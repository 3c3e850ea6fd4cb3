import type { Viewer } from './model-viewer.ts'
import { type Comparison, compare } from './stage/comparison.ts'

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
  const create = (src: string) => createViewer({ src, alt, decoders: JSON.parse(decoders) })
  const viewer = create(src)
  const say = (text: string) => {
    if (status) status.textContent = text
    stage.toggleAttribute('data-loading', text === LOADING)
  }
  const controls = addControls(stage, viewer)
  let isWanted = false
  let comparison: Comparison | null = null
  const buttons = document.querySelectorAll<HTMLButtonElement>('button[data-show]')
  viewer.addEventListener('load', () => {
    stage.querySelector('img')?.remove()
    stage.dataset.shown = viewer.getAttribute('src') ?? ''
    controls.renew(isWanted)
    say('')
  })
  viewer.addEventListener('error', () => say('This browser could not show the model. The download still works.'))
  say(LOADING)
  stage.append(viewer)
  const press = (button: HTMLButtonElement) => {
    comparison?.end()
    comparison = null
    for (const other of buttons) other.removeAttribute('aria-pressed')
    button.setAttribute('aria-pressed', 'true')
    // The player must see the animation.
    stage.scrollIntoView({ block: 'nearest' })
    const shown = button.dataset.show ?? src
    isWanted = shown.includes('/animation/')
    if (viewer.getAttribute('src') === shown) return
    say(LOADING)
    viewer.setAttribute('src', shown)
  }
  for (const button of buttons) {
    button.hidden = false
    button.addEventListener('click', () => {
      press(button)
      const { with: other, names } = button.dataset
      if (other === undefined) return
      const [left = '', right = ''] = JSON.parse(names ?? '[]')
      const versions: Parameters<typeof compare>[2]['versions'] = [
        { src: button.dataset.show ?? src, label: left },
        { src: other, label: right },
      ]
      comparison = compare(stage, viewer, { create, versions })
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
      if (!isWanted && (stage.querySelector('.stage-second') || matchMedia('(prefers-reduced-motion: reduce)').matches))
        viewer.pause()
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

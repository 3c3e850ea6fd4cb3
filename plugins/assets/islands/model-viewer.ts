/** The model viewer with its decoders, all from the portal's own origin. It fetches nothing from other servers. */
import { ModelViewerElement } from '@google/model-viewer'

/** The addresses of what the viewer loads when a model needs it. */
export interface Decoders {
  meshopt: string
  /** Addresses by file name. */
  files: Record<string, string>
}

/** The element of the viewer. */
export interface Viewer extends HTMLElement {
  play(): void
  pause(): void
  readonly paused: boolean
  /** The names of the clips of the model. */
  readonly availableAnimations: string[]
  animationName: string | undefined
  /** The time in the clip, in seconds. */
  currentTime: number
  /** Angles in radians, and the distance in metres. */
  getCameraOrbit(): { theta: number; phi: number; radius: number }
  /** In metres. */
  getCameraTarget(): { x: number; y: number; z: number }
  /** In degrees. */
  getFieldOfView(): number
  jumpCameraToGoal(): void
}

/** Creates an element that shows a model, which can be turned. */
export function createViewer({ src, alt, decoders }: { src: string; alt: string; decoders: Decoders }): Viewer {
  // These static properties of the library default to third-party servers.
  Object.assign(ModelViewerElement, { meshoptDecoderLocation: decoders.meshopt })
  ModelViewerElement.mapURLs((url) => decoders.files[url.slice(url.lastIndexOf('/') + 1)] ?? url)
  const viewer = document.createElement('model-viewer') as Viewer & Pick<ModelViewerElement, 'getDimensions'>
  for (const [name, value] of Object.entries({
    src,
    alt,
    'camera-controls': '',
  }))
    viewer.setAttribute(name, value)
  viewer.addEventListener('load', () => {
    const { x, y, z } = viewer.getDimensions()
    // A library of clips has nothing to see, and a shadow without a size fails on the graphics card.
    viewer.setAttribute('shadow-intensity', x + y + z > 0 ? '0.7' : '0')
  })
  viewer.setAttribute('interaction-prompt', 'none')
  // The library has its own buttons for augmented reality, which the platform does not offer. They would still be
  // reachable by keyboard. The page has its own progress messages.
  for (const slot of ['ar-button', 'exit-webxr-ar-button', 'progress-bar']) {
    const nothing = document.createElement('span')
    nothing.slot = slot
    viewer.append(nothing)
  }
  return viewer
}

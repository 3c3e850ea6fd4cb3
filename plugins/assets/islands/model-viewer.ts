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
}

/** Creates an element that shows a model: it can be turned, and its first clip plays. */
export function createViewer({ src, alt, decoders }: { src: string; alt: string; decoders: Decoders }): Viewer {
  // These static properties of the library default to third-party servers.
  Object.assign(ModelViewerElement, { meshoptDecoderLocation: decoders.meshopt })
  ModelViewerElement.mapURLs((url) => decoders.files[url.slice(url.lastIndexOf('/') + 1)] ?? url)
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
  // reachable by keyboard. The page has its own progress messages.
  for (const slot of ['ar-button', 'exit-webxr-ar-button', 'progress-bar']) {
    const nothing = document.createElement('span')
    nothing.slot = slot
    viewer.append(nothing)
  }
  return viewer
}

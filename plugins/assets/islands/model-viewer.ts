// The model viewer with its decoders, all from the portal's own origin. It fetches nothing from other servers.
import { ModelViewerElement } from '@google/model-viewer'

const { meshopt = '', decoders = '{}' } = document.querySelector<HTMLElement>('[data-viewer]')?.dataset ?? {}
const addresses = new Map(Object.entries(JSON.parse(decoders) as Record<string, string>))

// These static properties of the library default to third-party servers.
Object.assign(ModelViewerElement, { meshoptDecoderLocation: meshopt })
ModelViewerElement.mapURLs((url) => addresses.get(url.slice(url.lastIndexOf('/') + 1)) ?? url)

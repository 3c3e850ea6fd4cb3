// The viewer of models, with its decoders, from our own origin: nothing is fetched from anywhere else.
import { ModelViewerElement } from '@google/model-viewer'

const { meshopt = '', decoders = '{}' } = document.querySelector<HTMLElement>('[data-viewer]')?.dataset ?? {}
const addresses = new Map(Object.entries(JSON.parse(decoders) as Record<string, string>))

// Static properties of the library, which otherwise names servers of its own.
Object.assign(ModelViewerElement, { meshoptDecoderLocation: meshopt })
ModelViewerElement.mapURLs((url) => addresses.get(url.slice(url.lastIndexOf('/') + 1)) ?? url)

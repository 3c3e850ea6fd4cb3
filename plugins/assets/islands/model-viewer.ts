// The viewer of models, with its decoder, from our own origin: nothing is fetched from anywhere else.
import { ModelViewerElement } from '@google/model-viewer'

const own = (name: string) => document.querySelector<HTMLElement>('[data-viewer]')?.dataset[name] ?? ''

// A static property of the library, which otherwise names a server of its own.
Object.assign(ModelViewerElement, { meshoptDecoderLocation: own('meshopt') })

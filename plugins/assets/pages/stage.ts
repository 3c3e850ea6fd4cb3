import type { FastifyInstance } from 'fastify'
import { html, type View } from '../../../core/pages/index.ts'

/** The browser script of pages with a `modelStage`. */
export const STAGE_SCRIPT = 'asset.js'

/**
 * Additions of these pages to the Content-Security-Policy: the viewer creates textures from blobs, and decoders are
 * WebAssembly. The rest is as on every page.
 */
export const VIEWER_POLICY = {
  'script-src': ["'wasm-unsafe-eval'"],
  // The digest of the only style element that the viewer's library creates.
  'style-src': ["'sha256-PXtZZkJMMyc18o/DN1ZEFOJ2qEGq95IQbVaJFMOXOb0='"],
  'img-src': ['blob:'],
  'connect-src': ['data:', 'blob:'],
  'worker-src': ["'self'", 'blob:'],
} as const

/** The files that the viewer requests by these names when a model needs them. */
const DECODERS = ['draco_wasm_wrapper.js', 'draco_decoder.wasm', 'basis_transcoder.js', 'basis_transcoder.wasm']

/**
 * A rotatable model, which replaces its picture once the viewer has loaded.
 *
 * @param shown `src` of a GLB of the page's own origin, `alt` as text alternative, `picture` until the viewer has
 *   loaded
 */
export const modelStage = (
  { browserFiles }: Pick<FastifyInstance, 'browserFiles'>,
  { src, alt, picture }: { src: string; alt: string; picture: View | null },
): View => html`
  <div class="stage" data-viewer=${browserFiles.url('model-viewer.js')} data-meshopt=${browserFiles.url('meshopt-decoder.js')}
    data-decoders=${JSON.stringify(Object.fromEntries(DECODERS.map((name) => [name, browserFiles.url(name)])))}
    data-src=${src} data-alt=${alt}>${picture}</div>
  <p class="note" role="status" data-viewer-status></p>`

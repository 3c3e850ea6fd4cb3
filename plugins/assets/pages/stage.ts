import type { FastifyInstance } from 'fastify'
import { html, type View } from '../../../core/pages/index.ts'

/** The browser script of pages with a `modelStage`. */
export const STAGE_SCRIPT = 'asset.js'

/**
 * What those pages add to their Content-Security-Policy: the viewer makes its textures from blobs, and decoders are
 * WebAssembly; everything else is as on every page.
 */
export const VIEWER_POLICY = {
  'script-src': ["'wasm-unsafe-eval'"],
  // The digest is of the one style element that the viewer's library makes.
  'style-src': ["'sha256-PXtZZkJMMyc18o/DN1ZEFOJ2qEGq95IQbVaJFMOXOb0='"],
  'img-src': ['blob:'],
  'connect-src': ['data:', 'blob:'],
  'worker-src': ["'self'", 'blob:'],
} as const

/** Files that the viewer asks for by these names when a model needs them. */
const DECODERS = ['draco_wasm_wrapper.js', 'draco_decoder.wasm', 'basis_transcoder.js', 'basis_transcoder.wasm']

/**
 * A model to look at from all sides, in place of its picture once the viewer is there.
 *
 * @param shown `src` of a GLB of the page's own origin, `alt` for who can't see it, `picture` for until then
 */
export const modelStage = (
  { browserFiles }: Pick<FastifyInstance, 'browserFiles'>,
  { src, alt, picture }: { src: string; alt: string; picture: View | null },
): View => html`
  <div class="stage" data-viewer=${browserFiles.url('model-viewer.js')} data-meshopt=${browserFiles.url('meshopt-decoder.js')}
    data-decoders=${JSON.stringify(Object.fromEntries(DECODERS.map((name) => [name, browserFiles.url(name)])))}
    data-src=${src} data-alt=${alt}>${picture}</div>
  <p class="note" role="status" data-viewer-status></p>`

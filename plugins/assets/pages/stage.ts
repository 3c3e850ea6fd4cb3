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

/** The address of the viewer's script, and of what it loads when a model needs it. */
export interface ViewerFiles {
  script: string
  decoders: { meshopt: string; files: Record<string, string> }
}

/** Returns the addresses of the viewer, for a page with `VIEWER_POLICY`. */
export const viewerFiles = ({ browserFiles }: Pick<FastifyInstance, 'browserFiles'>): ViewerFiles => ({
  script: browserFiles.url('model-viewer.js'),
  decoders: {
    meshopt: browserFiles.url('meshopt-decoder.js'),
    files: Object.fromEntries(DECODERS.map((name) => [name, browserFiles.url(name)])),
  },
})

/**
 * A rotatable model, which replaces its picture once the viewer has loaded.
 *
 * @param shown `src` of a GLB of the page's own origin, `alt` as text alternative, `picture` until the viewer has
 *   loaded
 */
export function modelStage(
  app: Pick<FastifyInstance, 'browserFiles'>,
  { src, alt, picture }: { src: string; alt: string; picture: View | null },
): View {
  const { script, decoders } = viewerFiles(app)
  return html`
    <div class="stage" data-viewer=${script} data-decoders=${JSON.stringify(decoders)} data-src=${src} data-alt=${alt}>${picture}</div>
    <p class="note" role="status" data-viewer-status></p>`
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import initialise from 'canvaskit-wasm'
import { drawSvg } from '../core/pages/covers/svg-canvas.ts'

const root = join(import.meta.dirname, '..')
/** The coordinate size of the drawing in core/pages/pictures/favicon.svg. */
const UNITS = 32
const GROUND = '#c2410c'

/** Draws the logo as PNG and ICO for bookmarks, home screens and feed readers, which do not support SVG. */
export async function drawIcons(): Promise<[string, Uint8Array][]> {
  const svg = await readFile(join(root, 'core/pages/pictures/favicon.svg'), 'utf8')
  const kit = await initialise.default({ locateFile: (file) => join(root, 'node_modules/canvaskit-wasm/bin', file) })
  /**
   * @param safe the share of the picture that the logo occupies: the rest may be cropped, so the background fills it
   */
  const draw = (size: number, safe = 1): Uint8Array => {
    const surface = kit.MakeSurface(size, size)
    if (!surface) throw new Error('no memory for an icon')
    const canvas = surface.getCanvas()
    canvas.clear(safe < 1 ? kit.parseColorString(GROUND) : kit.TRANSPARENT)
    canvas.translate((size * (1 - safe)) / 2, (size * (1 - safe)) / 2)
    canvas.scale((size * safe) / UNITS, (size * safe) / UNITS)
    drawSvg(kit, canvas, svg)
    const png = surface.makeImageSnapshot().encodeToBytes()
    surface.delete()
    if (!png) throw new Error('an icon could not be encoded')
    return png
  }
  return [
    ['favicon.ico', icoOf(draw(32), 32)],
    ['icon-180.png', draw(180, 0.86)],
    ['icon-192.png', draw(192)],
    ['icon-512.png', draw(512)],
    ['icon-maskable-512.png', draw(512, 0.8)],
  ]
}

/** Builds an ICO file with one PNG. */
function icoOf(png: Uint8Array, size: number): Uint8Array {
  const head = Buffer.alloc(22)
  head.writeUInt16LE(1, 2) // The type is icon.
  head.writeUInt16LE(1, 4) // The file has one picture.
  head.writeUInt8(size, 6)
  head.writeUInt8(size, 7)
  head.writeUInt16LE(1, 10)
  head.writeUInt16LE(32, 12)
  head.writeUInt32LE(png.length, 14)
  head.writeUInt32LE(head.length, 18)
  return Buffer.concat([head, png])
}

import mime from 'mime'
import { mediaTypeOf } from './media-type.ts'

const ENCODINGS = { br: 'br', gz: 'gzip' } as const

const ARCHIVE = /^application\/(?:x-)?gzip\b/i

/** Unity's own suffixes, which no media type registry contains. */
const OPAQUE = /\.(?:data|unityweb|pck|symbols\.json)$/i

/**
 * Returns how a file that its maker compressed is served; null for every other file.
 *
 * Unity and Godot upload `game.wasm.br` and have the page request that name. It is sent with the type of its content
 * (`application/wasm`) and `Content-Encoding: br`. An archive (`.tar.gz`), and a name that does not tell the inner
 * type, keep their own type. So does a file that its maker announced as an archive, which the game unpacks itself.
 */
export function uploadedEncoding(
  path: string,
  announcedType?: string,
): { encoding: 'br' | 'gzip'; contentType: string } | null {
  if (announcedType !== undefined && ARCHIVE.test(announcedType)) return null
  const [, inner, suffix] = /^(.+\.[a-z0-9]+)\.(br|gz)$/i.exec(path) ?? []
  if (!inner || !isTransparent(inner)) return null
  const contentType = OPAQUE.test(inner) ? 'application/octet-stream' : mediaTypeOf(inner)
  return { encoding: ENCODINGS[suffix?.toLowerCase() as 'br' | 'gz'], contentType }
}

const isTransparent = (name: string) =>
  OPAQUE.test(name) || (mime.getType(name) !== null && !/\.(?:tar|cpio|gz|br|zip)$/i.test(name))

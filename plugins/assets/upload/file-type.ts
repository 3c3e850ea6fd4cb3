import mime from 'mime'
import type { Kind } from '../schemas.ts'

/** Detects the type of a file by its first bytes. */
export interface FileType {
  kind: Kind | 'zip'
  contentType: string
  extension: string
}

const type = (kind: FileType['kind'], contentType: string, extension: string): FileType => ({
  kind,
  contentType,
  extension,
})

/** The type of a `.gltf` in a pack. Alone it is made a glTF binary. */
export const GLTF_TYPE = 'model/gltf+json'
export const isGltf = (path: string): boolean => /\.gltf$/i.test(path)

export const GLB = type('model', 'model/gltf-binary', 'glb')

/** The number of bytes that `sniff` requires. */
export const HEAD_BYTES = 32

/**
 * Detects a file's type by its first bytes; names and announced types are ignored. Only types that browsers show or
 * play and never execute are known.
 */
export function sniff(head: Buffer): FileType | null {
  const text = (from: number, to: number) => head.toString('latin1', from, to)
  if (text(0, 4) === 'glTF') return GLB
  if (text(0, 4) === 'PK\x03\x04' || text(0, 4) === 'PK\x05\x06') return type('zip', 'application/zip', 'zip')
  if (text(0, 8) === '\x89PNG\r\n\x1a\n') return type('image', 'image/png', 'png')
  if (text(0, 3) === '\xff\xd8\xff') return type('image', 'image/jpeg', 'jpg')
  if (text(0, 4) === 'RIFF' && text(8, 12) === 'WEBP') return type('image', 'image/webp', 'webp')
  if (/^GIF8[79]a$/.test(text(0, 6))) return type('image', 'image/gif', 'gif')
  if (text(0, 11) === '\xabKTX 20\xbb\r\n') return type('image', 'image/ktx2', 'ktx2')
  if (/^#\?(?:RADIANCE|RGBE)\n/.test(text(0, 11))) return type('image', 'image/vnd.radiance', 'hdr')
  if (text(0, 4) === 'RIFF' && text(8, 12) === 'WAVE') return type('audio', 'audio/wav', 'wav')
  if (text(0, 4) === 'OggS') return type('audio', 'audio/ogg', 'ogg')
  if (text(0, 4) === 'fLaC') return type('audio', 'audio/flac', 'flac')
  if (text(0, 3) === 'ID3' || isMpegAudio(head)) return type('audio', 'audio/mpeg', 'mp3')
  if (text(4, 8) === 'ftyp' && /^M4A /.test(text(8, 12))) return type('audio', 'audio/mp4', 'm4a')
  return null
}

/** The formats of models that Blender reads, by their extension. */
const OTHER_MODELS: Readonly<Record<string, string>> = {
  blend: 'a project of Blender',
  fbx: 'a model in the format FBX',
  obj: 'a model in the format OBJ',
  dae: 'a model in the format COLLADA',
  stl: 'a model in the format STL',
  ply: 'a model in the format PLY',
  usd: 'a model in the format USD',
  usdc: 'a model in the format USD',
  usdz: 'a model in the format USD',
}
const OTHER_ARCHIVE = /\.(?:rar|7z|tar|tgz|gz|xz|bz2|zst)$/i

/** Says what a file is that `sniff` does not know, and what to do with it: sentences for its uploader. */
export function describeUnknown(name: string, head: Buffer): string {
  const start = head.toString('latin1', 0, 18)
  const extension = start.startsWith('BLENDER')
    ? 'blend'
    : start.startsWith('Kaydara FBX Binary')
      ? 'fbx'
      : (/\.([a-z0-9]+)$/i.exec(name)?.[1] ?? '').toLowerCase()
  const model = Object.hasOwn(OTHER_MODELS, extension) ? OTHER_MODELS[extension] : undefined
  if (model) {
    const how = extension === 'blend' ? 'Open it in Blender, and export it' : 'Import it into Blender, and export it'
    return `This is ${model}. ${how} as glTF binary (.glb): File, Export, glTF 2.0.`
  }
  if (OTHER_ARCHIVE.test(name)) return 'This is an archive of another kind. Pack its files as a ZIP archive.'
  return 'This is not a model (.glb, .gltf or .vrm), nor a picture, a sound or a ZIP archive of such.'
}

/** Whether the data starts with a valid MPEG audio frame header: sync, layer, bit rate and sampling rate. */
function isMpegAudio(head: Buffer): boolean {
  const [first = 0, second = 0, third = 0] = head
  return (
    first === 0xff &&
    (second & 0xe0) === 0xe0 &&
    (second & 0x18) !== 0x08 &&
    (second & 0x06) !== 0 &&
    third >> 4 !== 15 &&
    third >> 4 !== 0 &&
    (third & 0x0c) !== 0x0c
  )
}

/**
 * The allowed types in packs. Other files are served as bytes, so that a pack never contains a page, script or style.
 */
const IN_PACKS = /^(?:image\/(?!svg)|audio\/|video\/|font\/|model\/|text\/(?:plain|markdown|csv)$|application\/json$)/

/** Returns the media type of a file in a pack: detected from its bytes, or from its name if that type is harmless. */
export function typeInPack(path: string, head: Buffer): string {
  const known = sniff(head)
  if (known && known.kind !== 'zip') return known.contentType
  const named = mime.getType(path) ?? 'application/octet-stream'
  if (!IN_PACKS.test(named)) return 'application/octet-stream'
  return /^(?:text\/|application\/json)/.test(named) ? `${named}; charset=utf-8` : named
}

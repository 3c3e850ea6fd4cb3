import { TEXT_BYTES } from './text-bytes.ts'

/** How a file is shown. */
export type FileKind = 'text' | 'picture' | 'sound' | 'video' | 'model' | 'other'

/** A file in a tab. */
export interface OpenFile {
  path: string
  kind: FileKind
  /** The current text in the editor. */
  text: string
  /** The text that the server had when this tab last read or saved it. */
  seen: string
  /** The revision that the editor has seen; null for a file that the server does not have. */
  revision: number | null
  /** Whether the text differs from the server's. */
  dirty: boolean
  saving: boolean
  /** Somebody else changed the file meanwhile. */
  conflict: { who: string; at: string } | null
  /** Grows when the text was replaced by the server's, so that the editor loads it. */
  loads: number
}

const TEXT =
  /\.(?:html?|css|m?js|cjs|ts|json|webmanifest|md|markdown|txt|py|xml|svg|glsl|vert|frag|csv|yaml|yml|toml|ini|gd|lua)$/i

/** Returns how to show a file, by its name, type and size. */
export function kindOf({ path, contentType, size }: { path: string; contentType: string; size: number }): FileKind {
  if ((TEXT.test(path) || /^text\/|json|javascript|xml/.test(contentType)) && size <= TEXT_BYTES) return 'text'
  if (contentType.startsWith('image/')) return 'picture'
  if (contentType.startsWith('audio/')) return 'sound'
  if (contentType.startsWith('video/')) return 'video'
  if (contentType === 'model/gltf-binary') return 'model'
  return 'other'
}

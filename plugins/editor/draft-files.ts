import { type ManifestFile, mediaTypeOf } from '../deploy/index.ts'
import type { DraftFile, DraftRow } from './entities.ts'

/** A deploy as the base of a draft. */
export interface Base {
  /** null for a game without a deploy. */
  deployId: string | null
  files: ReadonlyMap<string, Omit<ManifestFile, 'encodings'>>
  room: string | null
}

/** A file of a draft. */
export type DraftedFile = Pick<ManifestFile, 'sha256' | 'size' | 'contentType' | 'announcedType'> & { path: string }

/** Returns the files of a draft: those of its base, with its changes. The order is that of their paths. */
export function filesOf(base: Base, changes: readonly DraftFile[]): Map<string, DraftedFile> {
  const files = new Map<string, DraftedFile>()
  for (const [path, file] of base.files) files.set(path, { path, ...file })
  for (const { path, sha256, size } of changes) {
    if (!sha256) files.delete(path)
    else files.set(path, { path, sha256, size, contentType: mediaTypeOf(path) })
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Returns the path of the room script among the files of a draft; null for none. */
export function roomOf(base: Base, draft: Pick<DraftRow, 'room'> | null, files: ReadonlyMap<string, unknown>) {
  const room = draft?.room ?? base.room
  return room !== null && room !== '' && files.has(room) ? room : null
}

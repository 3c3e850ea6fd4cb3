import type { Database } from '../../../core/data/database.ts'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { blobKey } from '../blobs/blobs.ts'
import { DeployRow } from '../entities.ts'
import type { Manifests } from '../manifest/manifests.ts'
import { examine } from './examine.ts'
import type { Note } from './notes.ts'

/**
 * Examines the build of a deploy whose files are all there, and records the result with it. A deploy that has a result
 * already is left unchanged, since its files never change.
 *
 * @param notes what was found before, such as names in an archive
 */
export async function examineDeploy(
  { db, storage, manifests }: { db: Database; storage: Storage; manifests: Manifests },
  { id, build }: DeployRow,
  notes: readonly Note[] = [],
): Promise<void> {
  if (build) return
  const manifest = await manifests.of(id)
  if (!manifest) return
  const files = Array.from(manifest, ([path, file]) => ({ path, ...file }))
  // Nobody can load the room script, so it is no part of what browsers get.
  const served = files.filter(({ roomScript }) => !roomScript)
  const found = await examine(served, ({ sha256 }, bytes) => storage.get(blobKey(sha256), { start: 0, end: bytes - 1 }))
  await db.em().nativeUpdate(DeployRow, { id }, { build: { ...found, notes: [...notes, ...found.notes] } })
}

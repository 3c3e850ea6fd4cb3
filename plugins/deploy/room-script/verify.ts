import { buffer } from 'node:stream/consumers'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { openBlob } from '../blobs/blobs.ts'
import type { Note } from '../builds/notes.ts'
import type { DeployRow } from '../entities.ts'
import { InvalidRoomScript } from '../errors.ts'
import type { Manifests } from '../manifest/manifests.ts'
import type { ScriptWorker } from '../script-worker.ts'

/**
 * Checks the room script of a deploy once its bytes are there. An invalid one ends the deploy, whose files can't change.
 *
 * @returns what its author should look at
 * @throws InvalidRoomScript
 */
export async function verifyRoomScript(
  deploys: { readonly manifests: Manifests; fail(deployId: string, failure: string): Promise<void> },
  { storage, worker }: { storage: Storage; worker: ScriptWorker },
  { id: deployId, playerId }: Pick<DeployRow, 'id' | 'playerId'>,
): Promise<Note[]> {
  const script = await deploys.manifests.roomScriptOf(deployId)
  if (!script) return []
  const bytes = await buffer(await openBlob(storage, script))
  try {
    const { path } = script
    return (await worker.check({ path, bytes, owner: playerId ?? undefined })).map((note) => ({
      ...note,
      path,
      message: `${path} ${note.message}`,
    }))
  } catch (error) {
    if (error instanceof InvalidRoomScript) await deploys.fail(deployId, error.message)
    throw error
  }
}

import { createReadStream } from 'node:fs'
import type { BuildFile } from '../clients/cli/deploy/folder.ts'
import type { Build } from '../plugins/deploy/builds/examine.ts'

/**
 * Examines a folder as the platform examines a deploy of it.
 *
 * @throws CliError when the folder can't be deployed
 */
export async function examineFolder(folder: string): Promise<Build> {
  const { readBuild } = await import('../clients/cli/deploy/folder.ts')
  return examineFiles((await readBuild(folder)).files)
}

/** Does the same for the files of a folder. */
export async function examineFiles(files: BuildFile[]): Promise<Build> {
  const { examine } = await import('../plugins/deploy/builds/examine.ts')
  return examine(files, async ({ file }, bytes) => createReadStream(file, { end: bytes - 1 }))
}

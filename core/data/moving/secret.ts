import { access, constants, copyFile, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { makeFolder } from '../folders/make-folder.ts'
import { Keys } from '../keys.ts'
import { MoveError } from './errors.ts'

interface KeyPlace {
  dataDir: string
  secret: string | undefined
}

/**
 * Copies the keys of the source's data folder into that of the target, where it has none, and checks that both
 * configurations have the same secret: sessions, sign-ins and signing keys are sealed with it.
 *
 * @param target `database`: a shared one needs the secret in the configuration of each machine
 * @returns `Keys.check` of the secret
 * @throws MoveError
 */
export async function moveKeys(
  source: KeyPlace,
  target: KeyPlace & { database: { shared: boolean } },
): Promise<string> {
  const folder = join(source.dataDir, 'keys')
  const hasFile = await exists(join(folder, 'secret'))
  if (source.secret === undefined && !hasFile)
    throw new MoveError(
      `The source has no keys: there is no ${join(folder, 'secret')}. Start it once, or name its folder.`,
    )
  const check = (await Keys.open(source)).check()
  const fromFile = `The source keeps it in its data folder: give the target secret: "base64:…" with the output of: base64 -w0 ${join(folder, 'secret')}`
  if (target.secret !== undefined && (await Keys.open(target)).check() !== check)
    throw new MoveError(
      source.secret === undefined
        ? `The secret of the target is not the source's. ${fromFile}`
        : 'The `secret` of the target is not that of the source: give it the same one.',
    )
  if (source.secret !== undefined && target.secret === undefined)
    throw new MoveError('The source has a `secret` in its configuration: give the target the same one.')
  if (target.database.shared && target.secret === undefined)
    throw new MoveError(`Several machines can share the target's database, so it needs the secret. ${fromFile}`)
  if (resolve(source.dataDir) !== resolve(target.dataDir)) await copyKeys(folder, join(target.dataDir, 'keys'))
  if (target.secret === undefined && (await Keys.open(target)).check() !== check)
    throw new MoveError(`The data folder ${target.dataDir} has the keys of another platform: name a new folder.`)
  return check
}

async function copyKeys(from: string, to: string): Promise<void> {
  await makeFolder(to)
  for (const name of await readdir(from).catch(() => []))
    if (/^[A-Za-z0-9_.-]+$/.test(name))
      await copyFile(join(from, name), join(to, name), constants.COPYFILE_EXCL).catch(
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error
        },
      )
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

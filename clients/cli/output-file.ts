import { mkdtempSync, writeFileSync } from 'node:fs'
import { access, constants, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { CliError, fileReason, usageError } from './errors.ts'

// Where the answer of a request goes that costs something. The place is checked before the request, and whatever happens
// afterwards, the answer is kept somewhere.

/**
 * Checks that a file can be written, before anything is paid for it.
 *
 * @throws CliError when it exists and may not be overwritten, or its folder can't be written
 */
export async function checkTarget(file: string, overwrite: boolean): Promise<void> {
  const there = await stat(file).catch(() => null)
  if (there?.isDirectory()) throw usageError(`${file} is a folder.`, 'Name a file in it.')
  if (there?.isFile() && !overwrite)
    throw usageError(`${file} exists already.`, 'Name another file, or replace it: --overwrite')
  await access(there && !there.isFile() ? file : dirname(file), constants.W_OK).catch((error) => {
    throw usageError(`${file} can't be written: ${fileReason(error)}.`, 'Nothing was generated, and nothing was paid.')
  })
}

/** Returns the name, or the first of `name-2`, `name-3` … that no file has. */
export async function freeName(name: string, extension: string): Promise<string> {
  for (let number = 1; ; number++) {
    const file = `${name}${number === 1 ? '' : `-${number}`}.${extension}`
    if (!(await stat(file).catch(() => null))) return file
  }
}

/**
 * Writes an answer that is paid. The file is complete or unchanged.
 *
 * @throws CliError that names the temporary file in which the answer is, if the target can't be written
 */
export async function writePaid(file: string, bytes: string | Buffer, overwrite: boolean): Promise<void> {
  const there = await stat(file).catch(() => null)
  try {
    if (there && !there.isFile()) return await writeFile(file, bytes)
    if (there && !overwrite) throw Object.assign(new Error(), { code: 'EEXIST' })
    const partial = `${file}.part`
    try {
      await writeFile(partial, bytes)
      await rename(partial, file)
    } catch (error) {
      await rm(partial, { force: true }).catch(() => {})
      throw error
    }
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'EEXIST' ? 'it exists meanwhile' : fileReason(error)
    const kept = keepTemporarily(bytes, basename(file))
    throw new CliError(`${file} can't be written: ${reason}.`, {
      code: 'not_saved',
      hint: kept ? `The answer is in ${kept}` : 'No other place could keep the answer either.',
      cause: error,
    })
  }
}

/**
 * Writes an answer to a temporary file that only this user can read. It is synchronous, because the process may end when
 * it returns.
 *
 * @returns the file; null when no place keeps it
 */
export function keepTemporarily(bytes: string | Buffer, name: string): string | null {
  for (const place of [tmpdir, homedir, process.cwd]) {
    try {
      const file = join(mkdtempSync(join(place(), 'gameyard-answer-')), name)
      writeFileSync(file, bytes, { mode: 0o600, flag: 'wx' })
      return file
    } catch {
      // The next place may have room.
    }
  }
  return null
}

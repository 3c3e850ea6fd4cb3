import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { type Document, isMap, parseDocument } from 'yaml'
import { StartupError } from '../core/errors.ts'
import type { Path } from './problems.ts'

/**
 * Sets keys in a configuration file, and leaves everything else unchanged, including comments. Creates a missing file.
 *
 * @throws StartupError when the file can't be written, or is not a mapping
 */
export async function editConfig(file: string, changes: { path: Path; value: unknown }[]): Promise<void> {
  try {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    const document: Document = parseDocument(text)
    if (document.errors.length > 0 || (document.contents !== null && !isMap(document.contents)))
      throw new StartupError(`${file} is no configuration; see gameyard config check.`)
    for (const { path, value } of changes) {
      // `portal:` without a value is null, which can't hold a key.
      for (let length = 1; length < path.length; length++)
        if (document.getIn(path.slice(0, length)) == null)
          document.setIn(path.slice(0, length), document.createNode({}))
      document.setIn(path, document.createNode(value))
    }
    const { mode } = await stat(file).catch(() => ({ mode: 0o600 }))
    await writeFile(`${file}.new`, document.toString({ lineWidth: 0 }), { mode: mode & 0o777, flush: true })
    await rename(`${file}.new`, file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new StartupError(`The configuration ${file} can't be written (${code}).`)
  }
}

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { InputFile } from '../../drivers/blender/interface.ts'

/** Beside this file; in a bundle, where the build has put it. */
const folder = [join(import.meta.dirname, 'harness'), join(import.meta.dirname, 'plugins/blender/harness')]

const root = (): string => folder.find((path) => existsSync(path)) ?? (folder[0] as string)

/** The Python that runs inside Blender, as files of a run; read when the first job needs it. */
export function harnessFiles(): InputFile[] {
  const from = root()
  return readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.py'))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ path: `harness/${relative(from, file)}`, content: readFileSync(file) }))
}

/** The harness's JSON files of a folder, parsed, in the order of their names. */
export function harnessRecords<Record>(name: string): Record[] {
  const from = join(root(), name)
  return readdirSync(from)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => JSON.parse(readFileSync(join(from, file), 'utf8')))
}

/** One of the harness's files. */
export const harnessText = (name: string): string => readFileSync(join(root(), name), 'utf8')

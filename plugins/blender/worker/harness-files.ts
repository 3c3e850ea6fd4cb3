import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { getAsset, getAssetKeys, isSea } from 'node:sea'
import type { InputFile } from '../../../drivers/blender/interface.ts'

/** The folder next to this one. The single binary has no such folder, but assets under this name (build/binary.ts). */
const folder = isSea() ? '' : join(import.meta.dirname, '../harness')
const prefix = 'plugins/blender/harness/'

/** Returns one of the harness's files, such as `starters/catalog.json`. */
export const harnessText = (name: string): string =>
  isSea() ? getAsset(prefix + name, 'utf8') : readFileSync(join(folder, name), 'utf8')

function harnessNames(): string[] {
  if (isSea())
    return getAssetKeys()
      .filter((key) => key.startsWith(prefix))
      .map((key) => key.slice(prefix.length))
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
}

/** Returns the Python that runs inside Blender with its data, as files of a run. */
export const harnessFiles = (): InputFile[] =>
  harnessNames()
    .filter((name) => name.endsWith('.py') || name === 'version_differences.json')
    .map((name) => ({ path: `harness/${name}`, content: harnessText(name) }))

/** Parses the harness's JSON files of a folder, in the order of their names. */
export const harnessRecords = <Record>(name: string): Record[] =>
  harnessNames()
    .filter((file) => file.startsWith(`${name}/`) && file.endsWith('.json'))
    .sort()
    .map((file) => JSON.parse(harnessText(file)))

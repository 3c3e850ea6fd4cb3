import { readFile } from 'node:fs/promises'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { getRawAsset, isSea } from 'node:sea'
import { STARTERS, type Starter } from './catalog.ts'

export interface StarterFile {
  /** The path in the game. */
  path: string
  bytes: Uint8Array
}

/** The top of the source tree. The single binary has assets under the names of `assetsOfStarters` instead. */
const root = isSea() ? '' : join(import.meta.dirname, '../..')

/**
 * Returns the files of a starter's game.
 *
 * @param title replaces the starter's own title
 */
export async function filesOf(starter: Starter, title: string = starter.title): Promise<StarterFile[]> {
  const files = await Promise.all(
    [...sourcesOf(starter)].map(async ([path, source]) => ({
      path,
      bytes: await read(assetName(starter, path), source),
    })),
  )
  return files.map(({ path, bytes }) =>
    path === 'index.html' ? { path, bytes: withTitle(bytes, starter.title, title) } : { path, bytes },
  )
}

/** Lists the files of all starters for embedding in a single binary: the path in the source tree by asset name. */
export const assetsOfStarters = (): Record<string, string> =>
  Object.fromEntries(
    STARTERS.flatMap((starter) => [...sourcesOf(starter)].map(([path, source]) => [assetName(starter, path), source])),
  )

/** Returns the paths in the source tree, by path in the game. */
const sourcesOf = ({ name, files, engine = {} }: Starter): Map<string, string> =>
  new Map([...files.map((file): [string, string] => [file, `starters/${name}/${file}`]), ...Object.entries(engine)])

const assetName = ({ name }: Starter, path: string): string => `starters/${name}/${path}`

const read = async (asset: string, source: string): Promise<Uint8Array> =>
  isSea() ? new Uint8Array(getRawAsset(asset)) : readFile(locate(source))

/** Returns the file of a path in the source tree. npm may have installed an engine's package further up. */
function locate(source: string): string {
  const [, name, path = ''] = /^node_modules\/([^/]+)\/(.+)$/.exec(source) ?? []
  const manifest = name === undefined ? undefined : findPackageJSON(name, import.meta.url)
  return manifest === undefined ? join(root, source) : join(dirname(manifest), path)
}

/** Replaces the title of a page where it is the whole text of an element. */
function withTitle(page: Uint8Array, from: string, to: string): Uint8Array {
  if (from === to) return page
  const text = Buffer.from(page).toString()
  return Buffer.from(text.replaceAll(`>${from}</`, () => `>${escapeHtml(to)}</`))
}

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

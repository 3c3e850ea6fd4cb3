import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Build, BuildFile } from './folder.ts'
import type { RoomScript } from './room-script.ts'

/** Files that can name another one. */
const TEXT = /\.(?:html?|[cm]?jsx?|[cm]?tsx?|css|json|webmanifest|svg|xml|txt|map)$/i
/** Longer files are data. */
const LONGEST = 32 * 1024 ** 2

/**
 * Finds what belongs to a room script and everybody can read all the same: files of the build that are part of its
 * bundle, and its source map. A file that the rest of the build mentions is one that browsers load, too.
 *
 * @param build with the published script in the place of its source
 * @returns paths in the build
 */
export async function exposedFiles(build: Build, script: RoomScript): Promise<string[]> {
  const { path, replaces, imports } = script
  const bundled = new Set(imports)
  const maps = [path, replaces].map((name) => `${name}.map`)
  const suspects = new Set(build.files.filter((file) => bundled.has(file.file) || maps.includes(file.path)))
  const waiting = build.files.filter((file) => file.path !== path && !suspects.has(file))
  for (let file = waiting.pop(); file !== undefined && suspects.size > 0; file = waiting.pop()) {
    const text = await textOf(file)
    for (const suspect of suspects) {
      if (!text.includes(basename(suspect.path))) continue
      // Browsers load this one, and so what it mentions.
      suspects.delete(suspect)
      waiting.push(suspect)
    }
  }
  return [...suspects].map((file) => file.path).sort()
}

const textOf = async ({ path, file, size }: BuildFile): Promise<string> =>
  TEXT.test(path) && size <= LONGEST ? readFile(file, 'utf8').catch(() => '') : ''

/** The warning about such files; null for none. */
export function exposedWarning(paths: readonly string[]): string | null {
  if (paths.length === 0) return null
  const [shown, more] = [paths.slice(0, 5).join(', '), paths.length - 5]
  const names = more > 0 ? `${shown} and ${more} more` : shown
  const [they, them] = paths.length === 1 ? ['it is', 'it'] : ['they are', 'them']
  return `Everybody can read ${names}: only the room script uses ${them}, but ${they} in the build. List ${them} in .gameyardignore, or put ${them} outside of the folder; the script may import from there.`
}

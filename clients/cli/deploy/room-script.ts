import { mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, extname, join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CliError, fileReason } from '../errors.ts'
import type { FoundProject } from '../project.ts'
import type { Build } from './folder.ts'

/** The most bytes that the platform accepts in a room script. */
const LONGEST = 1024 ** 2

/** A room script as a deploy publishes it. */
export interface RoomScript {
  /** The path in the build. */
  path: string
  /** The path on this disk of the source. */
  source: string
  /** The source's path in the build, in whose place the published text stands; null for one outside of it. */
  replaces: string | null
  /** The path on this disk of the published text: the source itself, or a bundle in a temporary folder. */
  file: string
  /** The size of the published text in bytes. */
  size: number
  bundled: boolean
  /** The real paths on this disk of the files in the bundle. */
  imports: string[]
  /** Removes the temporary folder. */
  remove(): Promise<void>
}

/**
 * Prepares the script that `room` in gameyard.json names: a file of the build folder or, for one that is not part of
 * it, of the folder of gameyard.json. A script that imports something, or is written in TypeScript, is bundled.
 *
 * @throws CliError when it does not exist, can't be parsed, or can't be bundled
 */
export async function prepareRoomScript(
  { room, file: projectFile }: Pick<FoundProject, 'room' | 'file'>,
  folder: string,
): Promise<RoomScript | null> {
  if (room === undefined) return null
  const project = dirname(projectFile)
  const inBuild = resolve(folder, room)
  const source = (await isFile(inBuild)) ? inBuild : resolve(project, room)
  const text = await readFile(source, 'utf8').catch((error) => {
    throw new CliError(`The room script ${room} can't be read: ${fileReason(error)}.`, {
      code: 'no_room_script',
      hint: `"room" in gameyard.json names it. A first one: gameyard init --room`,
    })
  })
  const within = relative(folder, source).split(sep).join('/')
  const replaces = within.startsWith('../') ? null : within.normalize('NFC')
  const published = replaces ?? basename(source)
  const path = published.normalize('NFC').replace(/\.[cm]?tsx?$/, '.js')
  if (!(await needsBundling(source, text))) {
    return {
      path,
      source,
      replaces,
      file: source,
      size: Buffer.byteLength(text),
      bundled: false,
      imports: [],
      remove: async () => {},
    }
  }
  const { bundle, inputs } = await bundleScript(source, project)
  const temporary = await mkdtemp(join(tmpdir(), 'gameyard-room-'))
  const file = join(temporary, 'room.js')
  await writeFile(file, bundle)
  const imports = (await Promise.all(inputs.map(realPath))).filter((input) => input !== null)
  const remove = () => rm(temporary, { recursive: true, force: true })
  return { path, source, replaces, file, size: bundle.length, bundled: true, imports, remove }
}

/**
 * Returns the build with the published text of its room script in the place of the source, which nobody may read.
 *
 * @throws CliError when the script would take the place of another file of the build, which players would then miss
 */
export function withRoomScript(build: Build, { path, replaces, source, file, size }: RoomScript): Build {
  const others = build.files.filter((other) => other.path !== replaces)
  if (others.some((other) => other.path === path)) {
    throw new CliError(`The room script ${source} is published as ${path}, and the build has another file there.`, {
      code: 'room_script_name_taken',
      hint: 'Give one of them another name: only the script of "room" in gameyard.json is kept from players.',
    })
  }
  const files = [...others, { path, file, size }]
  return { ...build, files: files.sort((a, b) => (a.path < b.path ? -1 : 1)) }
}

/** Some parts of a bundle are no files. */
const realPath = (path: string): Promise<string | null> => realpath(path).catch(() => null)

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  )

/** @throws CliError with the place of a syntax error */
async function needsBundling(source: string, text: string): Promise<boolean> {
  if (/^\.[cm]?tsx?$/.test(extname(source))) return true
  // A match in a comment or a text costs only a bundle that changes nothing.
  if (/\bimport\s*\(/.test(text)) return true
  const { parse } = await import('acorn')
  try {
    const { body } = parse(text, { ecmaVersion: 'latest', sourceType: 'module' })
    return body.some(
      (node) =>
        node.type === 'ImportDeclaration' ||
        node.type === 'ExportAllDeclaration' ||
        (node.type === 'ExportNamedDeclaration' && node.source),
    )
  } catch (error) {
    const { loc, message } = error as SyntaxError & { loc?: { line: number; column: number } }
    if (!loc) throw error
    throw brokenScript(`${source}:${loc.line}:${loc.column + 1}`, message.replace(/ \(\d+:\d+\)$/, ''))
  }
}

const brokenScript = (place: string, message: string): CliError =>
  new CliError(`The room script has a mistake at ${place}: ${message}.`, { code: 'invalid_room_script' })

type Esbuild = typeof import('esbuild')

/** @returns the text, and the files that it was made of */
async function bundleScript(source: string, project: string): Promise<{ bundle: Uint8Array; inputs: string[] }> {
  const { build } = await findEsbuild(dirname(source), project)
  try {
    const { outputFiles, metafile } = await build({
      entryPoints: [source],
      bundle: true,
      format: 'esm',
      platform: 'neutral',
      mainFields: ['module', 'main'],
      target: 'es2022',
      legalComments: 'none',
      charset: 'utf8',
      logLevel: 'silent',
      write: false,
      // The platform says by it where in these files an exception was thrown.
      sourcemap: 'inline',
      metafile: true,
      absWorkingDir: project,
    })
    const inputs = Object.keys(metafile.inputs).map((input) => resolve(project, input))
    return { bundle: fitting(outputFiles[0]?.contents ?? new Uint8Array()), inputs }
  } catch (error) {
    const [first] = (error as import('esbuild').BuildFailure).errors ?? []
    if (!first) throw error
    const { location, text } = first
    throw brokenScript(location ? `${location.file}:${location.line}:${location.column + 1}` : source, text)
  }
}

/** Returns a bundle without its source map where the platform would refuse both together. */
function fitting(bundle: Uint8Array): Uint8Array {
  const map = bundle.length > LONGEST ? Buffer.from(bundle).lastIndexOf('//# sourceMappingURL=') : -1
  return map === -1 ? bundle : bundle.subarray(0, map)
}

/**
 * Returns esbuild of the project, else of this program. The single binary carries none, since esbuild is a native
 * program.
 */
async function findEsbuild(...folders: string[]): Promise<Esbuild> {
  for (const base of [...folders.map((folder) => pathToFileURL(join(folder, 'index.js')).href), import.meta.url]) {
    try {
      const found = createRequire(base).resolve('esbuild')
      const module: { default?: Esbuild } & Esbuild = await import(pathToFileURL(found).href)
      return module.default ?? module
    } catch {}
  }
  throw new CliError('The room script imports other files, and there is no esbuild here to bundle them.', {
    code: 'no_esbuild',
    hint: 'Install it in the project: npm install --save-dev esbuild',
  })
}

import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import type { ProjectBoard } from './boards.ts'
import { CliError, fileReason, usageError } from './errors.ts'
import type { Features } from './games.ts'
import { withoutBom } from './json-input.ts'

/** The content of gameyard.json: the game of a folder, and the folder of its build. */
export interface Project {
  /** Absent until the game exists on a platform. `gameyard deploy --create` makes it, and writes the id. */
  gameId?: string
  /** The build folder, relative to the file. */
  folder: string
  /** The platform that hosts the game. */
  baseUrl?: string
  /** The room script: a path in the build folder, or one relative to the file. */
  room?: string
  /** The leaderboards that a deploy makes or changes. Others of the game stay as they are. */
  boards?: ProjectBoard[]
  /** What players filter by. A deploy sets these; others of the game stay as they are. */
  features?: Partial<Features>
  /** Whether the page of the game shows a cover with a button before it loads the game. */
  clickToStart?: boolean
}

export const PROJECT_FILE = 'gameyard.json'

export interface FoundProject extends Project {
  /** The path of the gameyard.json. */
  file: string
  /** The absolute path of the build folder. */
  buildFolder: string
}

/**
 * Finds the gameyard.json of a folder or its nearest parent; null when there is none. @throws CliError when it is
 * invalid
 */
export async function findProject(from: string): Promise<FoundProject | null> {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const project = await projectIn(folder)
    if (project || dirname(folder) === folder) return project
  }
}

/**
 * Finds the gameyard.json for a folder that a command names: that of the folder or, if it lies in the working directory,
 * of its nearest parent; otherwise that of the working directory or its nearest parent.
 */
export async function projectFor(folder: string | undefined, cwd: string): Promise<FoundProject | null> {
  if (folder === undefined) return findProject(cwd)
  const path = resolve(cwd, folder)
  if (path.startsWith(cwd + sep)) return findProject(path)
  return (await projectIn(path)) ?? findProject(cwd)
}

/**
 * Returns the game that a project names for a platform; undefined when it names none. @throws CliError when it names a
 * game of another platform, which the same slug may have too
 */
export function gameOf(project: FoundProject | null, baseUrl: string): string | undefined {
  if (!project?.gameId || (project.baseUrl ?? baseUrl) === baseUrl) return project?.gameId
  throw usageError(
    `${project.file} names a game at ${project.baseUrl}, not at ${baseUrl}.`,
    'Name the game: its slug, or --game SLUG',
  )
}

/** Reads the gameyard.json of exactly this folder; null when there is none. @throws CliError when it is invalid */
export async function projectIn(folder: string): Promise<FoundProject | null> {
  const file = join(folder, PROJECT_FILE)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw new CliError(`${file} can't be read: ${fileReason(error)}.`)
  })
  if (text === null) return null
  const project = parse(text, file)
  return { ...project, file, buildFolder: resolve(folder, project.folder) }
}

function parse(text: string, file: string): Project {
  const invalid = (what: string) =>
    new CliError(`${file} is not valid: ${what}.`, {
      code: 'project',
      hint: 'It looks like { "gameId": "gam_…", "folder": "dist" }; `gameyard init --game SLUG --force` writes a new one.',
    })
  let value: Partial<Record<string, unknown>>
  try {
    value = JSON.parse(withoutBom(text))
  } catch (error) {
    throw invalid((error as Error).message)
  }
  if (typeof value !== 'object' || value === null) throw invalid('it is not an object')
  const { gameId, folder = '.', baseUrl, boards, room, features, clickToStart } = value
  if (gameId !== undefined && (typeof gameId !== 'string' || gameId === '')) throw invalid('"gameId" is not an id')
  if (gameId === undefined && value.folder === undefined) throw invalid('"gameId" is missing')
  if (typeof folder !== 'string') throw invalid('"folder" is not a text')
  if (baseUrl !== undefined && !(typeof baseUrl === 'string' && URL.canParse(baseUrl))) {
    throw invalid('"baseUrl" is not an address')
  }
  if (room !== undefined && (typeof room !== 'string' || room === '')) {
    throw invalid('"room" is not the path of a file')
  }
  if (boards !== undefined && !isBoards(boards)) {
    throw invalid('"boards" is not a list of boards, each with an "id" and a "title"')
  }
  if (features !== undefined && !isFeatures(features)) {
    throw invalid('"features" is not an object such as { "inputs": ["touch", "keyboard"] }')
  }
  if (clickToStart !== undefined && typeof clickToStart !== 'boolean') {
    throw invalid('"clickToStart" is neither true nor false')
  }
  const unknown = Object.keys(value).find((key) => !KEYS.includes(key))
  if (unknown) throw invalid(`it has an unknown key "${unknown}"`)
  return {
    ...(gameId ? { gameId } : {}),
    folder,
    ...(baseUrl ? { baseUrl: new URL(baseUrl).origin } : {}),
    ...(room ? { room } : {}),
    ...(boards ? { boards } : {}),
    ...(features ? { features } : {}),
    ...(clickToStart === undefined ? {} : { clickToStart }),
  }
}

const KEYS = ['$schema', 'gameId', 'folder', 'baseUrl', 'boards', 'room', 'features', 'clickToStart']

/** Checks only what the command line reads. The platform checks the fields of each board. */
const isBoards = (value: unknown): value is ProjectBoard[] =>
  Array.isArray(value) && value.every((board) => typeof board?.id === 'string' && typeof board.title === 'string')

/** The platform checks the values. */
const isFeatures = (value: unknown): value is Partial<Features> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Writes gameyard.json into a folder. @throws CliError when one exists and `force` is not set */
export async function writeProject(folder: string, project: Project, { force = false } = {}): Promise<string> {
  const file = join(folder, PROJECT_FILE)
  await writeFile(file, `${JSON.stringify(project, null, 2)}\n`, { flag: force ? 'w' : 'wx' }).catch((error) => {
    if (error.code === 'EEXIST') {
      throw new CliError(`${file} is there already.`, { hint: 'Write over it with --force.' })
    }
    throw new CliError(`${file} can't be written: ${fileReason(error)}.`)
  })
  return file
}

import { randomUUID } from 'node:crypto'
import { access, readFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import type { Api } from '../api.ts'
import { CliError, usageError } from '../errors.ts'
import { type CreatedGame, type Game, getGame } from '../games.ts'
import { type FoundProject, type Project, writeProject } from '../project.ts'
import { truncate } from '../terminal.ts'

/** The usual output folders of build tools. */
const USUAL_FOLDERS = ['dist', 'build', 'public', 'out', 'www']

/** Returns the folder to deploy: the named one, that of gameyard.json, or the only candidate in this folder. */
export async function chooseFolder(
  named: string | undefined,
  project: FoundProject | null,
  cwd: string,
): Promise<string> {
  if (named !== undefined) return resolve(cwd, named)
  if (project) return project.buildFolder
  if (await hasIndex(cwd)) return cwd
  const candidates = []
  for (const name of USUAL_FOLDERS) if (await hasIndex(join(cwd, name))) candidates.push(name)
  throw usageError(
    'Which folder? There is no index.html here, and no gameyard.json that names another.',
    candidates.length > 0
      ? `Did you mean: gameyard deploy ${candidates[0]}`
      : 'Name the finished build: gameyard deploy dist',
  )
}

/**
 * Returns the project that describes the folder to deploy. That of a parent folder may describe another build, whose game
 * this one must not replace.
 *
 * @param found the project of the folder, of the working directory, or of its nearest parent
 * @param options `folder`: the folder to deploy; `game`: from `--game`; `create`: whether `--create` is given
 * @returns null when the command names another game, or makes one
 * @throws CliError when only the project of a parent says which game it is
 */
export function projectOf(
  found: FoundProject | null,
  { folder, cwd, game, create = false }: Pick<TargetOptions, 'folder' | 'cwd' | 'game' | 'create'>,
): FoundProject | null {
  if (!found || found.buildFolder === folder || [cwd, folder].includes(dirname(found.file))) return found
  if (game !== undefined || create) return null
  throw usageError(
    `${found.file} is for the build in ${found.buildFolder}, not for ${folder}. Nothing was published.`,
    'Name the game of this build: --game SLUG. A new game: --create',
  )
}

const hasIndex = (folder: string): Promise<boolean> =>
  access(join(folder, 'index.html')).then(
    () => true,
    () => false,
  )

export interface TargetOptions {
  /** The id or slug from `--game`. */
  game?: string | undefined
  /** Whether `--create` allows the creation of a missing game. */
  create?: boolean
  title?: string | undefined
  project: FoundProject | null
  folder: string
  /** The path of the page on this disk that the build opens. */
  startPage: string
  cwd: string
}

export interface Target {
  game: Game
  created: boolean
  /** The written gameyard.json, or the error that prevented it. */
  wrote: string | CliError | null
}

/** Chooses the game to deploy to. It creates the game on request and stores it in gameyard.json. */
export async function chooseGame(api: Api, options: TargetOptions): Promise<Target> {
  const { game, create = false, title, project, folder, startPage, cwd } = options
  if (title !== undefined && (game !== undefined || !create)) {
    throw usageError(
      game === undefined
        ? `--title "${title}" is what --create calls a new game, and there is no --create.`
        : `--game ${game} names a game that you have, and --title "${title}" a new one.`,
      'The title of a game that you have: gameyard games update SLUG --title TEXT',
    )
  }
  if (game !== undefined) return { game: await getGame(api, game), created: false, wrote: null }
  const page = create ? await readFile(startPage, 'utf8') : ''
  if (project?.gameId && (project.baseUrl ?? api.baseUrl) === api.baseUrl) {
    const known = await getGame(api, project.gameId)
    const isOther = title === undefined ? project.buildFolder !== folder : title !== known.title
    if (create && isOther) throw twoGames(project.file, known, title ?? titleOf(page, folder))
    return { game: known, created: false, wrote: null }
  }
  if (!create) {
    throw usageError(
      project?.gameId
        ? `gameyard.json names a game at ${project.baseUrl}, not at ${api.baseUrl}.`
        : 'Which game is this?',
      'A new one: --create. One that you have: --game SLUG, or once and for all: gameyard init --game SLUG',
    )
  }
  const made = await api.post<CreatedGame>(
    '/api/games',
    { title: title ?? titleOf(page, folder), description: descriptionOf(page) },
    { headers: { 'idempotency-key': randomUUID() }, repeatable: true },
  )
  if (project?.gameId) return { game: made, created: true, wrote: null }
  if (project) {
    const { file: _file, buildFolder: _buildFolder, ...described } = project
    const named = { ...described, gameId: made.id, baseUrl: api.baseUrl }
    return { game: made, created: true, wrote: await written(dirname(project.file), named, { force: true }) }
  }
  const inProject = relative(cwd, folder).split(sep).join('/')
  const outside = inProject.startsWith('..')
  const at = outside || inProject === '' ? '.' : inProject
  const wrote = await written(outside ? folder : cwd, { gameId: made.id, folder: at, baseUrl: api.baseUrl })
  return { game: made, created: true, wrote }
}

/** The command line asks for a new game where a gameyard.json names another one. */
const twoGames = (file: string, { title, slug }: Game, other: string): CliError =>
  usageError(
    `${file} names the game ${title} (${slug}), and --create asks for a new one, ${other}. Nothing was published.`,
    `Over ${slug}: leave out --create. As a new game: gameyard games create --title "${other}" --description "", then gameyard deploy DIR --game ITS-SLUG`,
  )

/** Writes gameyard.json. Returns its path, or the error that prevented it, because the game exists already. */
const written = (folder: string, project: Project, options: { force?: boolean } = {}): Promise<string | CliError> =>
  writeProject(folder, project, options).catch((error) => {
    if (error instanceof CliError) return error
    throw error
  })

/** Returns the page's title, else the folder's name, or the parent's name when that is generic. */
function titleOf(page: string, folder: string): string {
  const [, title = ''] = /<title[^>]*>([^<]*)<\/title>/i.exec(withoutComments(page)) ?? []
  const name = basename(folder).replace(/\.html?$/i, '')
  const fallback = USUAL_FOLDERS.includes(name.toLowerCase()) ? basename(dirname(folder)) : name
  return truncate(plain(title) || fallback || 'Untitled', 120).trim()
}

function descriptionOf(page: string): string {
  const tag = /<meta\s[^>]*name=["']?description["']?[^>]*>/i.exec(withoutComments(page))?.[0] ?? ''
  return truncate(plain(/content=(?:"([^"]*)"|'([^']*)')/i.exec(tag)?.slice(1).find(Boolean) ?? ''), 2000)
}

const withoutComments = (page: string): string => page.replace(/<!--[\s\S]*?(-->|$)/g, '')

const ENTITIES: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  copy: '©',
  reg: '®',
  trade: '™',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  bull: '•',
  middot: '·',
  times: '×',
  laquo: '«',
  raquo: '»',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
}

/** Returns the text of a piece of HTML without tags. */
const plain = (html: string): string =>
  html
    .replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|([a-z]+));/gi, (entity, hexadecimal, decimal, name) => {
      if (name) return ENTITIES[name] ?? entity
      const code = hexadecimal ? Number.parseInt(hexadecimal, 16) : Number(decimal)
      const isCharacter = code > 0x1f && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
      return isCharacter ? String.fromCodePoint(code) : ' '
    })
    .replace(/\s+/g, ' ')
    .trim()

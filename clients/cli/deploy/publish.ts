import type { Api } from '../api.ts'
import { putBoard } from '../boards.ts'
import { usageError } from '../errors.ts'
import type { Game } from '../games.ts'
import type { FoundProject } from '../project.ts'
import { type DeployProgress, type DeployResult, deploy } from './deploy.ts'
import { exposedFiles, exposedWarning } from './exposed-files.ts'
import { readBuild } from './folder.ts'
import { prepareRoomScript, type RoomScript, withRoomScript } from './room-script.ts'
import { chooseFolder, chooseGame, projectOf, type Target } from './target.ts'

/** A folder to publish with what its gameyard.json says. */
export interface Publication {
  /** The folder, or the HTML file; default: the one of `found`. */
  dir?: string | undefined
  /** The gameyard.json of the folder, of the working directory, or of its nearest parent. */
  found: FoundProject | null
  cwd: string
  /** The id or slug of the game; default: the one of `found`. */
  game?: string | undefined
  /** Whether a missing game is created, under `title` or that of the page. */
  create?: boolean
  title?: string | undefined
  message?: string | undefined
  preview?: boolean | undefined
  restartRooms?: boolean | undefined
  allowSecrets?: boolean | undefined
  stateFolder: string
  signal?: AbortSignal | undefined
  /** @throws CliError to refuse the room script that the gameyard.json names */
  checkScript?(script: RoomScript): Promise<void>
  /** Decides whether the game is changed, before anything is. */
  confirm?(game: Game): Promise<boolean>
}

/** Receives what happens. */
export interface PublicationReport {
  note(line: string): void
  warn(line: string): void
  target(target: Target): void
  progress: DeployProgress
}

export interface Published {
  target: Target
  result: DeployResult
}

/**
 * Publishes a folder as its gameyard.json describes it: with the room script in the place of its source, the features
 * and the boards.
 *
 * @param connect called when the build has been read
 * @returns null when `confirm` has refused
 * @throws CliError
 */
export async function publish(
  connect: () => Promise<Api>,
  publication: Publication,
  report: PublicationReport,
): Promise<Published | null> {
  const { dir, found, cwd, checkScript } = publication
  if (publication.preview && publication.restartRooms) {
    throw usageError('--restart-rooms is for the live rooms, and a new preview has none.')
  }
  const folder = await chooseFolder(dir, found, cwd)
  const project = projectOf(found, { ...publication, folder })
  const script = project && (await prepareRoomScript(project, folder))
  try {
    if (script) await checkScript?.(script)
    return await publishSource(connect, { ...publication, project, folder, script }, report)
  } finally {
    await script?.remove()
  }
}

interface Source {
  project: FoundProject | null
  folder: string
  script: RoomScript | null
}

async function publishSource(
  connect: () => Promise<Api>,
  { project, folder, script, confirm, ...options }: Publication & Source,
  report: PublicationReport,
): Promise<Published | null> {
  const { game, title, create = false, message, preview = false, restartRooms = false, allowSecrets = false } = options
  const { cwd, stateFolder, signal } = options
  const read = await readBuild(folder)
  const build = script ? withRoomScript(read, script) : read
  const api = await connect()
  if (build.leftOut.length > 0) report.warn(`Left out: ${build.leftOut.join(', ')}`)
  if (build.startPage) report.note(`${build.startPage} is published as index.html, the page that opens.`)
  const startPage = build.files.find(({ path }) => path === 'index.html')?.file as string
  const target = await chooseGame(api, { game, title, create, project, folder, startPage, cwd })
  if (confirm && !(await confirm(target.game))) return null
  report.target(target)
  if (script) {
    report.note(`Rooms   ${script.path}${script.bundled ? ', bundled with what it imports' : ''}`)
    const exposed = exposedWarning(await exposedFiles(build, script))
    if (exposed) report.warn(exposed)
  }
  const { id: gameId, slug } = target.game
  // A gameyard.json without a game describes the one that this deploy has made.
  const described = project && (target.created || project.gameId === gameId || project.gameId === slug) ? project : {}
  const brings = { api, game: target.game, project: described, preview, report }
  await bringFeatures(brings)
  await bringBoards(brings, script !== null)
  const request = {
    game: target.game,
    build,
    message,
    preview,
    room: script?.path,
    restartRooms,
    allowSecrets,
    stateFolder,
    signal,
  }
  return { target, result: await deploy(api, request, report.progress) }
}

interface Brings {
  api: Api
  game: Game
  project: Partial<FoundProject>
  preview: boolean
  report: Pick<PublicationReport, 'note' | 'warn'>
}

/**
 * Sets what gameyard.json says about the game, before the build is published: a value that is refused leaves the live
 * version as it is. A preview changes nothing of the game.
 */
async function bringFeatures({ api, game, project, preview, report }: Brings): Promise<void> {
  const { features = {}, clickToStart } = project
  const current = (game.features ?? {}) as Record<string, unknown>
  const changed = Object.entries(features).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(current[name]),
  )
  const changes = {
    ...(changed.length > 0 ? { features: Object.fromEntries(changed) } : {}),
    ...(clickToStart === undefined || clickToStart === game.settings.clickToStart
      ? {}
      : { settings: { clickToStart } }),
  }
  if (Object.keys(changes).length === 0) return
  if (preview) return report.note('The features of gameyard.json are set when the deploy is published.')
  await api.patch<Game>(`/api/games/${encodeURIComponent(game.id)}`, changes)
  const names = [...changed.map(([name]) => name), ...(changes.settings ? ['clickToStart'] : [])]
  report.note(`Features  ${names.join(', ')}`)
}

/**
 * Makes or changes the boards of gameyard.json before the build is published, so that the build finds them. A preview
 * leaves them as they are, since the live version uses the same boards.
 */
async function bringBoards({ api, game, project, preview, report }: Brings, hasScript: boolean): Promise<void> {
  const { boards = [] } = project
  if (boards.length === 0) return
  if (preview) return report.note('The boards of gameyard.json stay as they are until the deploy is published.')
  for (const board of boards) {
    const { writers } = await putBoard(api, game.id, board)
    // The deploy that follows replaces the one that the platform has looked at.
    if (writers === 'room' && !hasScript) {
      report.warn(`Nothing can write the board ${board.id}: gameyard.json names no room script.`)
    }
  }
  report.note(`Boards  ${boards.map(({ id }) => id).join(', ')}`)
}

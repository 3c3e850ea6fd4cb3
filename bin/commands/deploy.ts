import { dirname, relative } from 'node:path'
import type { Command } from 'commander'
import type { ProjectBoard } from '../../clients/cli/boards.ts'
import type { DeployProgress, DeployResult } from '../../clients/cli/deploy/deploy.ts'
import type { RoomScript } from '../../clients/cli/deploy/room-script.ts'
import type { Target } from '../../clients/cli/deploy/target.ts'
import type { Game } from '../../clients/cli/games.ts'
import type { FoundProject } from '../../clients/cli/project.ts'
import type { Terminal } from '../../clients/cli/terminal.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Options = ClientOptions & {
  game?: string
  message?: string
  create?: true
  title?: string
  preview?: true
  restartRooms?: true
  allowSecret?: true
}

export function configure(command: Command, installation: Installation): void {
  withClientOptions(command)
    .description(
      'Publishes a build atomically: players see the previous version or this one. It uploads changed files only; ' +
        'after an interruption the same command continues.',
    )
    .argument('[dir]', 'the finished build, with index.html in it, or one HTML file (default: that of gameyard.json)')
    .option('--game <game>', 'slug or id (default: that of gameyard.json)')
    .option('--create', 'make the game if there is none yet, and write gameyard.json')
    .option('--title <text>', 'what --create calls it (default: the title of index.html)')
    .option('--message <text>', 'a note for the history')
    .option('--preview', 'publish at a preview address; the live version stays')
    .option('--restart-rooms', 'end the live rooms, so that players come back to rooms with the new script')
    .option('--allow-secret', 'publish files although they hold a token or client secret that works on the platform')
    .addHelpText(
      'after',
      `
Examples:
  gameyard deploy dist --create                   the first time
  gameyard deploy                                 from then on
  gameyard deploy dist --game duo --message "Faster dots"
  gameyard deploy --preview                       look at it first; then: gameyard rollback DEPLOY
  gameyard deploy --restart-rooms                 with a room script that players shall have at once
  gameyard deploy --json | jq -r .playUrl

Never published: .git, .env*, node_modules, and what a .gameyardignore in the folder lists.
A file with a token or client secret that works on the platform refuses the deploy.
"room" in gameyard.json names the script of the game's rooms. It runs on the platform, and nobody can read it there.
A script that imports other files is bundled with them by esbuild.`,
    )
    .action((dir: string | undefined, options: Options) =>
      runClient({ ...options, folder: dir }, installation, (client) => run(client, dir, options)),
    )
}

/** The last line for a game that other people can't open yet. */
const heldWords = (state: 'waiting' | 'refused', slug: string): string =>
  state === 'waiting'
    ? '\n  Waits for the approval of the platform. Until then only you can open it.'
    : `\n  The platform has not approved it: \`gameyard games get ${slug}\` shows why. Only you can open it.`

async function run(client: Client, dir: string | undefined, options: Options): Promise<void> {
  const [{ chooseFolder, projectOf }, { prepareRoomScript }, { usageError }] = await Promise.all([
    import('../../clients/cli/deploy/target.ts'),
    import('../../clients/cli/deploy/room-script.ts'),
    import('../../clients/cli/errors.ts'),
  ])
  if (options.preview && options.restartRooms) {
    throw usageError('--restart-rooms is for the live rooms, and a new preview has none.')
  }
  const found = await client.project()
  const folder = await chooseFolder(dir, found, client.cwd)
  const project = projectOf(found, { ...options, folder, cwd: client.cwd })
  const script = project && (await prepareRoomScript(project, folder))
  try {
    await publish(client, { project, folder, script }, options)
  } finally {
    await script?.remove()
  }
}

/** A folder to publish. */
interface Source {
  project: FoundProject | null
  folder: string
  script: RoomScript | null
}

async function publish(client: Client, { project, folder, script }: Source, options: Options): Promise<void> {
  const { terminal, env, cwd, stateFolder, signal } = client
  const [{ chooseGame }, { readBuild }, { withRoomScript }, { deploy }, { ProgressBar }] = await Promise.all([
    import('../../clients/cli/deploy/target.ts'),
    import('../../clients/cli/deploy/folder.ts'),
    import('../../clients/cli/deploy/room-script.ts'),
    import('../../clients/cli/deploy/deploy.ts'),
    import('../../clients/cli/progress.ts'),
  ])
  const { game, title, message, create = false, preview = false, restartRooms = false, allowSecret = false } = options
  const started = performance.now()
  const read = await readBuild(folder)
  const build = script ? withRoomScript(read, script) : read
  const api = await client.api()
  if (build.leftOut.length > 0) terminal.note(terminal.styleNote('yellow', `Left out: ${build.leftOut.join(', ')}`))
  if (build.startPage) terminal.note(`${build.startPage} is published as index.html, the page that opens.`)
  const startPage = build.files.find(({ path }) => path === 'index.html')?.file as string
  const target = await chooseGame(api, { game, title, create, project, folder, startPage, cwd })
  sayTarget(terminal, target, cwd)
  if (script) terminal.note(`Rooms   ${script.path}${script.bundled ? ', bundled with what it imports' : ''}`)
  const { id: gameId, slug: gameSlug } = target.game
  // A gameyard.json without a game describes the one that this deploy has made.
  const described = project && (target.created || project.gameId === gameId || project.gameId === gameSlug)
  await bringFeatures(client, target.game, (described && project) || {}, preview)
  await bringBoards(client, gameId, {
    boards: (described && project.boards) || [],
    preview,
    hasScript: script !== null,
  })

  const { formatBytes, formatSpan, plural } = await import('../../clients/cli/terminal.ts')
  const { replacementsIn } = await import('../../clients/cli/deploy/replacements.ts')
  const bar = new ProgressBar(terminal, env)
  const say = (line: string) => {
    bar.clear()
    terminal.note(line)
  }
  let done = 0
  let all = 0
  let waiting = false
  const progress: DeployProgress = {
    hashing: (_files, bytes) => bar.start('Reading', bytes),
    advance: (bytes) => bar.advance(bytes),
    resuming: (startedAt, arrived) =>
      say(
        `Going on with the deploy of ${new Date(startedAt).toLocaleTimeString()}: ${plural(arrived, 'file')} had arrived.`,
      ),
    uploading(files, bytes) {
      bar.clear()
      done = 0
      all = files
      if (files === 0) return
      if (!terminal.interactive) terminal.note(`Uploading ${plural(files, 'file')} (${formatBytes(bytes)})`)
      bar.start('Uploading', bytes)
      bar.suffix(`0 of ${plural(files, 'file')}`)
    },
    arrived(files) {
      waiting = false
      done += files
      bar.suffix(`${done} of ${plural(all, 'file')}`)
    },
    waiting(reason) {
      if (!waiting) say(terminal.styleNote('yellow', `${reason} Trying again…`))
      waiting = true
    },
    publishing() {
      bar.clear()
      if (!terminal.interactive) return
      terminal.draw('\r\x1b[2KPublishing…')
    },
  }
  let result: DeployResult
  try {
    const request = {
      game: target.game,
      build,
      message,
      preview,
      room: script?.path,
      restartRooms,
      allowSecrets: allowSecret,
      stateFolder,
      signal,
    }
    result = await deploy(api, request, progress)
  } finally {
    bar.clear()
    if (terminal.interactive) terminal.draw('\r\x1b[2K')
  }
  const { id, slug, title: name, approval } = target.game
  terminal.result({ ...result, game: { id, slug, title: name }, created: target.created }, () => {
    const sent =
      result.uploaded === 0 ? 'nothing to upload' : `${result.uploaded} uploaded (${formatBytes(result.uploadedBytes)})`
    const figures = `${plural(result.files, 'file')}, ${sent}, ${formatSpan(performance.now() - started)}`
    const heading = `${terminal.style('green', preview ? 'Preview' : 'Live')}  ${terminal.style('bold', name)}  ${terminal.style('dim', figures)}`
    const found = foundIn(terminal, result)
    const others = replacementsIn(result, new Date()).map(
      (line) => `\n  ${terminal.style('yellow', 'Note')}    ${line}`,
    )
    return preview
      ? `${heading}\n  Look     ${result.previewUrl}\n  Publish  gameyard rollback ${result.deployId} --game ${slug}${found}`
      : `${heading}\n  Play    ${result.playUrl}\n  Manage  ${result.manageUrl}${others.join('')}${found}${approval ? heldWords(approval.state, slug) : ''}`
  })
}

/** Describes what the platform found in the build: a line each, with an empty text for nothing. */
function foundIn(terminal: Terminal, { build, isolation }: DeployResult): string {
  const lines = [
    ...(build?.engine ? [`Engine   ${[build.engine.name, build.engine.version].filter(Boolean).join(' ')}`] : []),
    ...(isolation?.on ? [`Isolated ${isolation.reason}`] : []),
    ...(build?.notes ?? []).map(({ level, message }) =>
      level === 'info' ? `Note     ${message}` : `${terminal.style('yellow', 'Warning')}  ${message}`,
    ),
  ]
  return lines.map((line) => `\n  ${line}`).join('')
}

/**
 * Sets what gameyard.json says about the game, before the build is published: a value that is refused leaves the live
 * version as it is. A preview changes nothing of the game.
 */
async function bringFeatures(
  client: Client,
  game: Game,
  { features = {}, clickToStart }: Partial<FoundProject>,
  preview: boolean,
): Promise<void> {
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
  const { terminal } = client
  if (preview) return terminal.note('The features of gameyard.json are set when the deploy is published.')
  const api = await client.api()
  await api.patch<Game>(`/api/games/${encodeURIComponent(game.id)}`, changes)
  terminal.note(
    `Features  ${[...changed.map(([name]) => name), ...(changes.settings ? ['clickToStart'] : [])].join(', ')}`,
  )
}

/**
 * Makes or changes the boards of gameyard.json before the build is published, so that the build finds them. A preview
 * leaves them as they are, since the live version uses the same boards.
 */
async function bringBoards(
  client: Client,
  gameId: string,
  { boards, preview, hasScript }: { boards: ProjectBoard[]; preview: boolean; hasScript: boolean },
): Promise<void> {
  if (boards.length === 0) return
  const { terminal } = client
  if (preview) return terminal.note('The boards of gameyard.json stay as they are until the deploy is published.')
  const [api, { putBoard }] = await Promise.all([client.api(), import('../../clients/cli/boards.ts')])
  for (const board of boards) {
    const { writers } = await putBoard(api, gameId, board)
    // The deploy that follows replaces the one that the platform has looked at.
    if (writers === 'room' && !hasScript)
      terminal.note(
        terminal.styleNote('yellow', `Nothing can write the board ${board.id}: gameyard.json names no room script.`),
      )
  }
  terminal.note(`Boards  ${boards.map(({ id }) => id).join(', ')}`)
}

function sayTarget(terminal: Terminal, { game, created, wrote }: Target, cwd: string): void {
  if (created) terminal.note(`Created the game ${terminal.styleNote('bold', game.title)} at ${game.url}`)
  if (typeof wrote === 'string') {
    const place = dirname(wrote)
    // The file is found from its own folder, and from those below it.
    const named = relative(place, cwd).startsWith('..') ? ` ${relative(cwd, place)}` : ''
    terminal.note(`Wrote ${relative(cwd, wrote)}: from now on \`gameyard deploy${named}\` is enough.`)
  }
  if (wrote instanceof Error)
    terminal.note(terminal.styleNote('yellow', `${wrote.message} Next time: --game ${game.slug}`))
}

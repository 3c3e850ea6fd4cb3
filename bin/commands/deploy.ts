import { relative } from 'node:path'
import type { Command } from 'commander'
import type { ProjectBoard } from '../../clients/cli/boards.ts'
import type { DeployProgress, DeployResult } from '../../clients/cli/deploy/deploy.ts'
import type { Target } from '../../clients/cli/deploy/target.ts'
import type { Terminal } from '../../clients/cli/terminal.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Options = ClientOptions & {
  game?: string
  message?: string
  create?: true
  title?: string
  preview?: true
}

export function configure(command: Command, installation: Installation): void {
  withClientOptions(command)
    .description(
      'Publishes a build atomically: players see the previous version or this one. It uploads changed files only; ' +
        'after an interruption the same command continues.',
    )
    .argument('[dir]', 'the finished build, with index.html in it (default: that of gameyard.json)')
    .option('--game <game>', 'slug or id (default: that of gameyard.json)')
    .option('--create', 'make the game if there is none yet, and write gameyard.json')
    .option('--title <text>', 'what --create calls it (default: the title of index.html)')
    .option('--message <text>', 'a note for the history')
    .option('--preview', 'publish at a preview address; the live version stays')
    .addHelpText(
      'after',
      `
Examples:
  gameyard deploy dist --create                   the first time
  gameyard deploy                                 from then on
  gameyard deploy dist --game duo --message "Faster dots"
  gameyard deploy --preview                       look at it first; then: gameyard rollback DEPLOY
  gameyard deploy --json | jq -r .playUrl

Never published: .git, .env*, node_modules, and what a .gameyardignore in the folder lists.`,
    )
    .action((dir: string | undefined, options: Options) =>
      runClient({ ...options, folder: dir }, installation, (client) => run(client, dir, options)),
    )
}

/** The last line for a game that other people can't open yet. */
const HELD = {
  waiting: '\n  Waits for the approval of the platform. Until then only you can open it.',
  refused: '\n  The platform has not approved it: `gameyard games get` shows why. Only you can open it.',
}

async function run(client: Client, dir: string | undefined, options: Options): Promise<void> {
  const { terminal, env, cwd, stateFolder, signal } = client
  const [{ chooseFolder, chooseGame }, { readBuild }, { deploy }, { ProgressBar }] = await Promise.all([
    import('../../clients/cli/deploy/target.ts'),
    import('../../clients/cli/deploy/folder.ts'),
    import('../../clients/cli/deploy/deploy.ts'),
    import('../../clients/cli/progress.ts'),
  ])
  const started = performance.now()
  const project = await client.project()
  const folder = await chooseFolder(dir, project, cwd)
  const build = await readBuild(folder)
  const api = await client.api()
  if (build.leftOut.length > 0) terminal.note(terminal.styleNote('yellow', `Left out: ${build.leftOut.join(', ')}`))
  const { game, title, message, create = false, preview = false } = options
  const target = await chooseGame(api, { game, title, create, project, folder, cwd })
  sayTarget(terminal, target, cwd)
  const boards = project?.gameId === target.game.id || project?.gameId === target.game.slug ? project.boards : undefined
  await bringBoards(client, target.game.id, boards ?? [], preview)

  const { formatBytes, formatSpan, plural } = await import('../../clients/cli/terminal.ts')
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
    arrived() {
      waiting = false
      bar.suffix(`${++done} of ${plural(all, 'file')}`)
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
    result = await deploy(api, { game: target.game, build, message, preview, stateFolder, signal }, progress)
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
    return preview
      ? `${heading}\n  Look     ${result.previewUrl}\n  Publish  gameyard rollback ${result.deployId} --game ${slug}`
      : `${heading}\n  Play    ${result.playUrl}\n  Manage  ${result.manageUrl}${approval ? HELD[approval.state] : ''}`
  })
}

/**
 * Makes or changes the boards of gameyard.json before the build is published, so that the build finds them. A preview
 * leaves them as they are, since the live version uses the same boards.
 */
async function bringBoards(client: Client, gameId: string, boards: ProjectBoard[], preview: boolean): Promise<void> {
  if (boards.length === 0) return
  const { terminal } = client
  if (preview) return terminal.note('The boards of gameyard.json stay as they are until the deploy is published.')
  const [api, { putBoard }] = await Promise.all([client.api(), import('../../clients/cli/boards.ts')])
  for (const board of boards) await putBoard(api, gameId, board)
  terminal.note(`Boards  ${boards.map(({ id }) => id).join(', ')}`)
}

function sayTarget(terminal: Terminal, { game, created, wrote }: Target, cwd: string): void {
  if (created) terminal.note(`Made the game ${terminal.styleNote('bold', game.title)} at ${game.url}`)
  if (typeof wrote === 'string')
    terminal.note(`Wrote ${relative(cwd, wrote) || wrote}: from now on \`gameyard deploy\` is enough.`)
  else if (wrote) terminal.note(terminal.styleNote('yellow', `${wrote.message} Next time: --game ${game.slug}`))
}

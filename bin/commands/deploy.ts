import { dirname, relative } from 'node:path'
import type { Command } from 'commander'
import type { DeployProgress, DeployResult } from '../../clients/cli/deploy/deploy.ts'
import type { Published } from '../../clients/cli/deploy/publish.ts'
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
  const { terminal, env, cwd, stateFolder, signal } = client
  const [{ publish }, { ProgressBar }, { formatBytes, formatSpan, plural }, { replacementsIn }] = await Promise.all([
    import('../../clients/cli/deploy/publish.ts'),
    import('../../clients/cli/progress.ts'),
    import('../../clients/cli/terminal.ts'),
    import('../../clients/cli/deploy/replacements.ts'),
  ])
  const { game, title, message, create = false, preview, restartRooms, allowSecret: allowSecrets } = options
  const found = await client.project()
  const started = performance.now()
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
  let published: Published
  try {
    const publication = { dir, found, cwd, game, title, message, create, preview, restartRooms, allowSecrets }
    published = (await publish(
      client.api,
      { ...publication, stateFolder, signal },
      {
        note: (line) => terminal.note(line),
        warn: (line) => terminal.note(terminal.styleNote('yellow', line)),
        target: (target) => sayTarget(terminal, target, cwd),
        progress,
      },
    )) as Published // no question was asked
  } finally {
    bar.clear()
    if (terminal.interactive) terminal.draw('\r\x1b[2K')
  }
  const { target, result } = published
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

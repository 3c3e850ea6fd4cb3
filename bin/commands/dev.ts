import { once } from 'node:events'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { DevRoomScript } from '../../clients/cli/dev/room-script.ts'
import type { Game } from '../../clients/cli/games.ts'
import type { FoundProject } from '../../clients/cli/project.ts'
import type { BrowserManifest, FileSource } from '../../core/data/built-files.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Options = ClientOptions & { game?: string; port: number; open?: true; offline?: true }

export function configure(command: Command, installation: Installation): void {
  withClientOptions(command)
    .description(
      'Serves a folder on this machine, and reloads the page when a file changes. Sign-in, session, rooms and ' +
        'scripts of the platform are those of the deployed game. If gameyard.json names a room script, the rooms run that ' +
        'of the folder, apart from the players, and its log is printed.',
    )
    .argument('[dir]', 'the folder with index.html (default: that of gameyard.json, or this one)')
    .option('--game <game>', 'slug or id (default: that of gameyard.json)')
    .addOption(
      new Option('-p, --port <number>', 'listen on this port; 0 picks a free one').argParser(portNumber).default(4000),
    )
    .option('--open', 'open it in the browser')
    .option('--offline', 'the files alone, without a platform')
    .addHelpText(
      'after',
      `
Examples:
  gameyard dev
  gameyard dev dist --game duo --open
  gameyard dev --offline --port 4001`,
    )
    .action((dir: string | undefined, options: Options) =>
      runClient({ ...options, folder: dir }, installation, (client) => run(client, dir, options, installation)),
    )
}

function portNumber(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('expected 0 to 65535.')
  return Number(text)
}

async function run(
  client: Client,
  dir: string | undefined,
  { game: named, port, open, offline }: Options,
  { browser }: Installation,
): Promise<void> {
  const { terminal, cwd, env, signal } = client
  const [{ chooseFolder }, { startDevServer }, { CliError, usageError }] = await Promise.all([
    import('../../clients/cli/deploy/target.ts'),
    import('../../clients/cli/dev/server.ts'),
    import('../../clients/cli/errors.ts'),
  ])
  const [{ stat }, { servingRules }] = await Promise.all([import('node:fs/promises'), import('../serving-rules.ts')])
  const project = await client.project()
  const folder = await chooseFolder(dir, project, cwd)
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) throw new CliError(`${folder} is no folder.`, { code: 'no_build', hint: 'gameyard dev dist' })
  let game: Game | null = null
  if (!offline && (named ?? project?.gameId) !== undefined) {
    const { chosenGame } = await import('./games.ts')
    game = (await chosenGame(client, named)).game
  }
  if (offline && named !== undefined) throw usageError('--offline goes without --game.')
  const rooms = game && project?.room !== undefined ? await runRoomScript(client, { game, project, folder }) : null
  const setting = game?.settings.crossOriginIsolated ?? 'auto'
  let isolated = await isIsolated(folder, setting)
  const server = await startDevServer({
    folder,
    port,
    game,
    isolated: () => isolated,
    script: (name) => scriptForGames(browser, name),
    rules: servingRules,
    ...(rooms ? { preview: () => rooms.script.preview } : {}),
    async changed(names) {
      terminal.note(
        terminal.styleNote('dim', `changed: ${names.slice(0, 3).join(', ')}${names.length > 3 ? ' …' : ''}`),
      )
      isolated = await isIsolated(folder, setting)
      await rooms?.publish()
    },
  })
  terminal.result({ url: server.url, folder, game: game?.slug ?? null }, () =>
    [
      `${terminal.style('green', 'Playing')}  ${server.url}`,
      `  Files     ${folder}`,
      ...(rooms ? [`  Rooms     ${project?.room}, apart from the players`] : []),
      `  Platform  ${game ? `${game.url} (sign-in, rooms)` : 'none: sign-in and rooms need --game'}`,
      terminal.style('dim', 'Ctrl-C stops it.'),
    ].join('\n'),
  )
  if (open) {
    const { openBrowser } = await import('../../clients/cli/open-browser.ts')
    await openBrowser(server.url, env)
  }
  if (!signal.aborted) await once(signal, 'abort')
  await server.close()
  await rooms?.script.remove()
}

/** Whether a deploy of the folder would be isolated. A folder that can't be deployed yet is not. */
async function isIsolated(folder: string, setting: 'auto' | boolean): Promise<boolean> {
  if (setting !== 'auto') return setting
  const [{ examineFolder }, { CliError }] = await Promise.all([
    import('../examine-folder.ts'),
    import('../../clients/cli/errors.ts'),
  ])
  try {
    return (await examineFolder(folder)).sharedMemory !== null
  } catch (error) {
    // A build that is being written lacks files for a moment.
    if (error instanceof CliError || (error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

interface DevRooms {
  script: DevRoomScript
  /** Publishes the script if it has changed, and says so. A mistake is said, too. */
  publish(): Promise<void>
}

/** Publishes the room script of the folder, and prints its log until the command ends. */
async function runRoomScript(
  client: Client,
  { game, project, folder }: { game: Game; project: FoundProject; folder: string },
): Promise<DevRooms> {
  const { terminal, signal, stateFolder } = client
  const [api, { DevRoomScript }, { followLogs, formatLine }, { CliError }] = await Promise.all([
    client.api(),
    import('../../clients/cli/dev/room-script.ts'),
    import('../../clients/cli/logs.ts'),
    import('../../clients/cli/errors.ts'),
  ])
  const script = new DevRoomScript({ api, game, project, folder, stateFolder })
  const say = (error: unknown) => {
    if (signal.aborted) return
    if (!(error instanceof CliError)) throw error
    terminal.note(terminal.styleNote('red', error.message))
    if (error.hint) terminal.note(`  ${error.hint}`)
  }
  const publish = async () => {
    try {
      const notes = await script.publish()
      if (notes) terminal.note(terminal.styleNote('dim', `rooms run ${project.room}`))
      for (const note of notes ?? []) terminal.note(terminal.styleNote('yellow', note))
    } catch (error) {
      say(error)
    }
  }
  await publish()
  void followLogs(api, game.id, { limit: 1, signal }, (line) => {
    if (script.deployIds.has(line.deployId))
      terminal.note(formatLine({ style: (...styled) => terminal.styleNote(styled[0], styled[1]) }, line))
  }).catch(say)
  return { script, publish }
}

/** The platform's scripts that games import, by the names under which a platform serves them. */
const SCRIPTS = ['mount.js', 'multiplayer.js', 'saves.js', 'scores.js', 'ai.js']

/** Returns one of them from this program; null for any other name. */
export async function scriptForGames(browser: FileSource, name: string): Promise<Uint8Array | null> {
  const manifest = SCRIPTS.includes(name) ? await browser('manifest.json') : null
  if (!manifest) return null
  const { files } = JSON.parse(Buffer.from(manifest).toString()) as BrowserManifest
  return browser(files[name]?.file ?? '')
}

import { writeFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { StartupError } from '../../core/errors.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'
import { printResult } from '../json-output.ts'

const PRESETS = ['lan-jam', 'single-server', 'cluster']

type Options = ClientOptions & { preset?: string; game?: string; folder?: string; force?: true; room?: true }

export function configure(command: Command, installation: Installation): void {
  withClientOptions(command)
    .description(
      "Writes an annotated configuration file for a platform; with --game, a game's gameyard.json, so that " +
        '`gameyard deploy` finds the folder and the game in gameyard.json; with --room, a script for the rooms of a game. ' +
        'Existing files are not changed.',
    )
    .argument('[file]', 'where to (default: gameyard.yaml)')
    .addOption(new Option('--preset <name>', 'start from a ready-made configuration').choices(PRESETS))
    .option('--game <game>', 'write gameyard.json for this game of yours: slug or id')
    .option('--folder <dir>', 'with --game: where its build comes out (default: this folder)')
    .option('--force', 'with --game: write over a gameyard.json')
    .option('--room', 'write a first room.js, and name it in gameyard.json')
    .addHelpText(
      'after',
      `
Examples, for a platform:
  gameyard init
  gameyard init --preset lan-jam

Examples, for a game:
  gameyard init --game duo --folder dist
  gameyard init --room                            rooms in which a script of yours decides
  gameyard deploy dist --create                   makes the game and its gameyard.json in one go`,
    )
    .action(async (file: string | undefined, options: Options) => {
      if (options.game === undefined) await refuseOptionsOfGame(options)
      return options.game === undefined && !options.room
        ? initPlatform(file, options, installation)
        : runClient(options, installation, (client) => initGame(client, file, options))
    })
}

/** @throws CliError when an option describes the gameyard.json of a game that is not named */
async function refuseOptionsOfGame(options: Options): Promise<void> {
  const option = (['folder', 'force'] as const).find((name) => options[name] !== undefined)
  if (!option) return
  const { usageError } = await import('../../clients/cli/errors.ts')
  throw usageError(`--${option} is for the gameyard.json of a game.`, 'Name the game: --game SLUG')
}

async function initPlatform(file = 'gameyard.yaml', { preset, ...options }: Options, installation: Installation) {
  await writeNew(file, preset ? await readPreset(preset, installation) : await annotated())
  const next = `gameyard serve${file === 'gameyard.yaml' ? '' : ` --config ${file}`}`
  printResult(options, { file, next }, () => `Wrote ${file}. Next: ${next}`)
  if (!options.json && process.stdout.isTTY) console.log("(For a game's gameyard.json: gameyard init --game SLUG)")
}

async function initGame(client: Client, file: string | undefined, options: Options): Promise<void> {
  const { terminal, cwd } = client
  const [{ getGame }, { writeProject }, { usageError }] = await Promise.all([
    import('../../clients/cli/games.ts'),
    import('../../clients/cli/project.ts'),
    import('../../clients/cli/errors.ts'),
  ])
  if (options.preset !== undefined) throw usageError('--preset is for a platform, --game and --room are for a game.')
  if (file !== undefined) throw usageError("A game's file is always gameyard.json.", `Leave out ${file}.`)
  if (options.game === undefined) return initRoom(client)
  const api = await client.api()
  const game = await getGame(api, options.game as string)
  const project = { gameId: game.id, folder: options.folder ?? '.', baseUrl: api.baseUrl }
  const wrote = await writeProject(cwd, project, { force: options.force === true })
  if (!options.room) {
    const next = `Wrote gameyard.json for ${game.title}. Next: gameyard deploy`
    return terminal.result({ file: wrote, ...project }, () => next)
  }
  terminal.note(`Wrote gameyard.json for ${game.title}.`)
  await initRoom(client)
}

async function initRoom({ terminal, cwd }: Client): Promise<void> {
  const [{ writeRoomScript }, { findProject }] = await Promise.all([
    import('../../clients/cli/room-template.ts'),
    import('../../clients/cli/project.ts'),
  ])
  const wrote = await writeRoomScript(await findProject(cwd), cwd)
  terminal.result(wrote, () =>
    wrote.project
      ? `Wrote ${wrote.script}, and its name into gameyard.json. Next: gameyard deploy, or gameyard dev`
      : `Wrote ${wrote.script}. Next, so that a deploy knows it: gameyard init --game SLUG, then "room": "room.js" in gameyard.json`,
  )
}

async function annotated(): Promise<string> {
  const [{ initialConfig }, { families }, { plugins }] = await Promise.all([
    import('../../config/init.ts'),
    import('../../drivers/index.ts'),
    import('../../plugins/index.ts'),
  ])
  return initialConfig(families, plugins)
}

async function readPreset(name: string, { configurations }: Installation): Promise<string> {
  const bytes = await configurations(`${name}.yaml`)
  if (!bytes) throw new StartupError(`This installation lacks its ready-made ${name}.yaml; install Gameyard again.`)
  return new TextDecoder().decode(bytes)
}

async function writeNew(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw new StartupError(`${file} is there already; name another file or remove it.`)
    throw new StartupError(`${file} can't be written (${error.code}).`)
  })
}

import { type Command, Option } from 'commander'
import type { BoardFields } from '../../clients/cli/boards.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Options = ClientOptions & { game?: string }
type SetOptions = Options & { [Name in keyof BoardFields]?: string }

/**
 * Configures `gameyard games boards …`, the leaderboards of a game.
 *
 * @param chosen returns the id of the target game
 */
export function configureBoards(
  games: Command,
  installation: Installation,
  chosen: (client: Client, named: string | undefined) => Promise<{ game: { id: string } }>,
): void {
  const boards = games
    .command('boards')
    .summary('the leaderboards of a game')
    .description(
      'The leaderboards of a game. A deploy also makes and changes the boards that gameyard.json lists as "boards".',
    )
    .addHelpText(
      'after',
      `
Examples:
  gameyard games boards set fastest --title "Fastest lap" --order asc --format milliseconds
  gameyard games boards set score --title "High score" --reset weekly --min 0 --max 1000000
  gameyard games boards list
  gameyard scores list fastest`,
    )
  const command = (name: string, summary: string, description: string) =>
    withClientOptions(boards.command(name))
      .summary(summary)
      .description(description)
      .option('--game <game>', 'slug or id; default: that of gameyard.json')
  const run = (options: Options, work: (client: Client, gameId: string) => Promise<void>) =>
    runClient(options, installation, async (client) => work(client, (await chosen(client, options.game)).game.id))
  const choice = (flags: string, description: string, choices: string[]) =>
    new Option(flags, description).choices(choices)

  command('list', 'list the boards of a game', 'Lists the boards of a game.').action((options: Options) =>
    run(options, list),
  )
  command('set', 'create a board, or change it', 'Creates a board, or changes the given fields of it.')
    .argument('<board>', 'its id: a-z, 0-9, _ and -')
    .option('--title <text>', 'its title; needed for a new board')
    .addOption(choice('--order <which>', 'which score is best: the highest (desc) or the lowest', ['desc', 'asc']))
    .addOption(choice('--format <how>', 'how scores are shown', ['number', 'milliseconds', 'seconds']))
    .option('--decimals <number>', 'how many decimals a score keeps, 0 to 6')
    .addOption(choice('--keep <which>', "which of a player's scores counts", ['best', 'last', 'sum']))
    .addOption(choice('--reset <when>', 'when it resets, in UTC', ['never', 'daily', 'weekly', 'monthly']))
    .option('--min <score>', 'the least score that is accepted; none: any')
    .option('--max <score>', 'the greatest score that is accepted; none: any')
    .addOption(choice('--writers <who>', 'who submits scores', ['players', 'room']))
    .action((id: string, options: SetOptions) => run(options, (client, game) => set(client, game, id, options)))
  command('remove', 'remove a board', 'Removes a board with all of its scores. Nothing brings them back.')
    .argument('<board>', 'its id')
    .action((id: string, options: Options) => run(options, (client, game) => remove(client, game, id)))
}

const load = async (client: Client) => Promise.all([client.api(), import('../../clients/cli/boards.ts')])

async function list(client: Client, gameId: string): Promise<void> {
  const [api, { listBoards }] = await load(client)
  const boards = await listBoards(api, gameId)
  const { terminal } = client
  terminal.result({ boards }, () =>
    boards.length === 0
      ? 'The game has no boards. Make one: gameyard games boards set score --title "High score"'
      : terminal.table(
          ['BOARD', 'TITLE', 'BEST', 'COUNTS', 'RESETS', 'WRITERS'],
          boards.map(({ id, title, order, keep, reset, writers }) => [
            id,
            title,
            order === 'desc' ? 'highest' : 'lowest',
            keep,
            reset,
            writers,
          ]),
        ),
  )
}

async function set(client: Client, gameId: string, id: string, options: SetOptions): Promise<void> {
  const [api, { getBoard, putBoard }] = await load(client)
  const { title, decimals, min, max, order, format, keep, reset, writers } = options
  const fields = {
    ...(order === undefined ? {} : { order }),
    ...(format === undefined ? {} : { format }),
    ...(keep === undefined ? {} : { keep }),
    ...(reset === undefined ? {} : { reset }),
    ...(writers === undefined ? {} : { writers }),
    ...(decimals === undefined ? {} : { decimals: await numberIn('--decimals', decimals) }),
    ...(min === undefined ? {} : { min: min === 'none' ? null : await numberIn('--min', min) }),
    ...(max === undefined ? {} : { max: max === 'none' ? null : await numberIn('--max', max) }),
  } as Omit<BoardFields, 'title'>
  // A change without a title keeps the one that the board has.
  const named = title ?? (await getBoard(api, gameId, id).catch(() => null))?.title
  if (named === undefined) {
    const { usageError } = await import('../../clients/cli/errors.ts')
    throw usageError(`A new board needs a title.`, `gameyard games boards set ${id} --title "High score"`)
  }
  const board = await putBoard(api, gameId, { id, title: named, ...fields })
  const { terminal } = client
  terminal.result(board, () =>
    [
      `${terminal.style('bold', board.title)}  ${terminal.style('dim', board.id)}`,
      `  The ${board.order === 'desc' ? 'highest' : 'lowest'} score is best; of each player the ${KEPT[board.keep]} counts.`,
      `  ${board.reset === 'never' ? 'It never resets.' : `It resets ${board.reset}, in UTC.`}`,
      ...(board.warning ? [`  ${terminal.style('yellow', 'Warning')}  ${board.warning}`] : []),
    ].join('\n'),
  )
}

const KEPT = { best: 'best', last: 'last', sum: 'sum' }

async function numberIn(option: string, text: string): Promise<number> {
  const number = Number(text)
  if (text.trim() !== '' && Number.isFinite(number)) return number
  const { usageError } = await import('../../clients/cli/errors.ts')
  throw usageError(`${option} is a number, and ${text} is none.`)
}

async function remove(client: Client, gameId: string, id: string): Promise<void> {
  const [api, { removeBoard }] = await load(client)
  await removeBoard(api, gameId, id)
  client.terminal.result({ removed: id }, () => `Removed the board ${id} with its scores.`)
}

import { type Command, Option } from 'commander'
import { type Client, type ClientOptions, positive, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Options = ClientOptions & { game?: string }
type ListOptions = Options & { limit: number; period: string }

export function configure(scores: Command, installation: Installation): void {
  scores.description('The scores on a board of your game. `gameyard games boards` makes boards.').addHelpText(
    'after',
    `
Examples:
  gameyard scores list fastest --limit 20
  gameyard scores list fastest --period previous --json
  gameyard scores remove fastest ply_01JD3X…`,
  )
  const command = (name: string, summary: string, description: string) =>
    withClientOptions(scores.command(name))
      .summary(summary)
      .description(description)
      .argument('<board>', 'the id of the board')
      .option('--game <game>', 'slug or id; default: that of gameyard.json')
  const run = (options: Options, work: (client: Client, gameId: string) => Promise<void>) =>
    runClient(options, installation, async (client) => {
      const { chosenGame } = await import('./games.ts')
      await work(client, (await chosenGame(client, options.game)).game.id)
    })
  const player = 'the id of the player, which `gameyard scores list --json` shows'

  command('list', 'list scores, the best first', 'Lists the scores of a board, the best first.')
    .addOption(new Option('--limit <number>', 'at most so many').argParser(positive).default(20))
    .addOption(
      new Option('--period <which>', 'of a board that resets')
        .choices(['current', 'previous', 'all'])
        .default('current'),
    )
    .action((board: string, options: ListOptions) => run(options, (client, game) => list(client, game, board, options)))
  command('remove', 'remove the score of a player', 'Removes what a player has on a board, in every period.')
    .argument('<player>', player)
    .action((board: string, playerId: string, options: Options) =>
      run(options, async (client, game) => {
        const [api, { removeScore }] = await load(client)
        await removeScore(api, game, board, playerId)
        client.terminal.result({ removed: playerId }, () => `Removed the scores of ${playerId}.`)
      }),
    )
  command(
    'exclude',
    'keep a player off a board',
    'Removes what a player has on a board, and refuses further scores of that player.',
  )
    .argument('<player>', player)
    .action((board: string, playerId: string, options: Options) =>
      run(options, (client, game) => setExcluded(client, game, { board, playerId, excluded: true })),
    )
  command('include', 'let a player onto a board again', 'Lets a player onto a board again.')
    .argument('<player>', player)
    .action((board: string, playerId: string, options: Options) =>
      run(options, (client, game) => setExcluded(client, game, { board, playerId, excluded: false })),
    )
}

const load = async (client: Client) => Promise.all([client.api(), import('../../clients/cli/boards.ts')])

async function list(client: Client, gameId: string, board: string, { limit, period }: ListOptions): Promise<void> {
  const [api, { listScores }] = await load(client)
  const entries = await listScores(api, gameId, board, { limit, period })
  const { terminal } = client
  terminal.result({ entries }, () =>
    entries.length === 0
      ? 'Nobody is on this board yet.'
      : terminal.table(
          ['RANK', 'SCORE', 'PLAYER', 'AT'],
          entries.map(({ rank, score, player: { name }, at }) => [String(rank), String(score), name, at]),
        ),
  )
}

async function setExcluded(
  client: Client,
  gameId: string,
  { board, playerId, excluded }: { board: string; playerId: string; excluded: boolean },
): Promise<void> {
  const [api, boards] = await load(client)
  await boards.setExcluded(api, gameId, board, playerId, excluded)
  client.terminal.result({ player: playerId, excluded }, () =>
    excluded ? `${playerId} is kept off the board.` : `${playerId} may be on the board again.`,
  )
}

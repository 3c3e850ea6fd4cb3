import { type Command, Option } from 'commander'
import type { MemberRole } from '../../clients/cli/members.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

/**
 * Configures `gameyard games members`, `invite`, `leave` and `transfer`: who owns, makes and tests a game.
 *
 * @param chosen returns the id of the target game
 */
export function configureMembers(
  games: Command,
  installation: Installation,
  chosen: (client: Client, named: string | undefined) => Promise<{ game: { id: string } }>,
): void {
  const command = (name: string, summary: string, description: string) =>
    withClientOptions(games.command(name))
      .summary(summary)
      .description(description)
      .argument('[game]', 'slug or id; default: that of gameyard.json')
  const run = (
    game: string | undefined,
    options: ClientOptions,
    work: (client: Client, gameId: string) => Promise<void>,
  ) => runClient(options, installation, async (client) => work(client, (await chosen(client, game)).game.id))

  command(
    'members',
    'list who makes and tests a game',
    'Lists the owner, the makers and the testers of a game.',
  ).action((game: string | undefined, options: ClientOptions) => run(game, options, list))
  command(
    'invite',
    'let others make or test a game',
    'Creates a link. Everybody who opens it within 14 days, up to 20 players, becomes a maker or a tester of the game. With --player or --email the invitation is for one player.',
  )
    .addOption(new Option('--role <role>', 'what they may do').choices(['maker', 'tester']).default('maker'))
    .option('--player <id>', 'invite this player alone')
    .addOption(new Option('--email <address>', 'send a link for one player there').conflicts('player'))
    .addHelpText('after', '\nExample:\n  gameyard games invite duo --role tester')
    .action((game: string | undefined, options: ClientOptions & Invited) =>
      run(game, options, (client, gameId) => invite(client, gameId, options)),
    )
  command(
    'leave',
    'leave a game of another player',
    'Ends your part in a game that another player owns. What you deployed stays.',
  ).action((game: string | undefined, options: ClientOptions) =>
    // A tester, who can't read the game by the API, leaves it by its name.
    runClient(options, installation, async (client) => leave(client, game ?? (await chosen(client, game)).game.id)),
  )
  withClientOptions(games.command('transfer'))
    .summary('offer a game to one of its makers, or answer such an offer')
    .description(
      'Offers a game to one of its makers, who becomes its owner by accepting within 7 days. You stay a maker of it. Without a player it shows the offer.',
    )
    .argument('<game>', 'slug or id')
    .argument('[player]', 'the name or id of a maker')
    .addOption(
      new Option('--accept', 'become the owner of a game that is offered to you').conflicts(['decline', 'withdraw']),
    )
    .addOption(new Option('--decline', 'decline a game that is offered to you').conflicts('withdraw'))
    .option('--withdraw', 'take back your offer')
    .addHelpText('after', '\nExamples:\n  gameyard games transfer duo Ada\n  gameyard games transfer duo --accept')
    .action((game: string, player: string | undefined, options: ClientOptions & TransferOptions) =>
      run(game, options, (client, gameId) => transfer(client, gameId, player, options)),
    )
}

interface TransferOptions {
  accept?: true
  decline?: true
  withdraw?: true
}

interface Invited {
  role: MemberRole
  player?: string
  email?: string
}

const load = async (client: Client) => Promise.all([client.api(), import('../../clients/cli/members.ts')])

async function list(client: Client, gameId: string): Promise<void> {
  const [api, { listMembers }] = await load(client)
  const members = await listMembers(api, gameId)
  const { terminal } = client
  terminal.result({ members }, () =>
    terminal.table(
      ['PLAYER', 'ROLE', 'SINCE', 'ID'],
      members.map(({ player, role, since }) => [player.name, role, since?.slice(0, 10) ?? 'unknown', player.id]),
    ),
  )
}

async function invite(client: Client, gameId: string, { role, player, email }: Invited): Promise<void> {
  const [api, { invite: create }] = await load(client)
  const invitation = await create(api, gameId, {
    role,
    ...(player ? { playerId: player } : {}),
    ...(email ? { email } : {}),
  })
  const { url, usesLeft, expiresAt } = invitation
  client.terminal.result(
    invitation,
    () =>
      `${email ? `Sent to ${email}.\n` : ''}${url}\nFor ${usesLeft} ${usesLeft === 1 ? 'player' : 'players'}, until ${expiresAt.slice(0, 10)}.`,
  )
}

async function leave(client: Client, gameId: string): Promise<void> {
  const [api, { leaveGame }] = await load(client)
  await leaveGame(api, gameId)
  client.terminal.result({ left: gameId }, () => 'You are no longer in this game.')
}

async function transfer(
  client: Client,
  gameId: string,
  player: string | undefined,
  { accept, decline, withdraw }: TransferOptions,
): Promise<void> {
  const [api, { acceptGame, endTransfer, offerGame, readTransfer }] = await load(client)
  const { formatBytes } = await import('../../clients/cli/terminal.ts')
  const { terminal } = client
  const ends = decline ?? withdraw
  if (player !== undefined && (accept ?? ends)) {
    const { CliError } = await import('../../clients/cli/errors.ts')
    throw new CliError('Leave the player out to answer an offer.', { code: 'usage', exitCode: 2 })
  }
  if (accept) {
    const { from, counts } = await readTransfer(api, gameId)
    await acceptGame(api, gameId)
    const size = formatBytes(counts.storedBytes)
    terminal.result(
      { owned: gameId },
      () => `You own the game now: it counts for you with ${size}. ${from.name} makes it.`,
    )
    return
  }
  if (ends) {
    await endTransfer(api, gameId)
    terminal.result({ ended: gameId }, () => 'The offer has ended.')
    return
  }
  const offer = player === undefined ? await readTransfer(api, gameId) : await offerGame(api, gameId, player)
  const { from, to, counts, expiresAt } = offer
  terminal.result(
    offer,
    () =>
      `${from.name} offers the game to ${to.name}, until ${expiresAt.slice(0, 10)}. It stores ${formatBytes(counts.storedBytes)}.`,
  )
}

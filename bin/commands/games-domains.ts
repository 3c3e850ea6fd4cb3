import type { Command } from 'commander'
import type { Domain } from '../../clients/cli/domains.ts'
import type { Game } from '../../clients/cli/games.ts'
import type { Terminal } from '../../clients/cli/terminal.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Options = ClientOptions & { game?: string }

/**
 * Configures `gameyard games domains …`, the custom domains of a game.
 *
 * @param chosen returns the target game
 */
export function configureDomains(
  games: Command,
  installation: Installation,
  chosen: (client: Client, named: string | undefined) => Promise<{ game: Game }>,
): void {
  const domains = games
    .command('domains')
    .summary('play at a domain of your own')
    .description('Domains of your own for a game. Adding one shows the DNS records that it needs.')
    .addHelpText(
      'after',
      `
Examples:
  gameyard games domains add play.example.com --game duo
  gameyard games domains verify play.example.com --game duo
  gameyard games domains primary play.example.com --game duo`,
    )
  const command = (name: string, summary: string, description: string) =>
    withClientOptions(domains.command(name))
      .summary(summary)
      .description(description)
      .option('--game <game>', 'slug or id; default: that of gameyard.json')
  const run = (options: Options, work: (client: Client, game: Game) => Promise<void>) =>
    runClient(options, installation, async (client) => work(client, (await chosen(client, options.game)).game))
  const named = 'such as play.example.com'

  command(
    'list',
    'list the domains of a game',
    'Lists the domains of a game, and the DNS records that are missing.',
  ).action((options: Options) => run(options, list))
  command('add', 'ask for a domain', 'Asks for a domain and shows the records that its DNS needs.')
    .argument('<domain>', named)
    .action((name: string, options: Options) => run(options, (client, game) => add(client, game, name)))
  command(
    'verify',
    'check the DNS now',
    'Lets the platform check the DNS now. Exit code 1 while the domain is not verified.',
  )
    .argument('<domain>', named)
    .action((name: string, options: Options) => run(options, (client, game) => verify(client, game, name)))
  command('primary', 'make it the main address', 'Redirects all other addresses of the game to this domain.')
    .argument('<domain>', named)
    .option('--off', 'end the redirects to this domain')
    .action((name: string, options: Options & { off?: boolean }) =>
      run(options, (client, game) => setPrimary(client, game, name, !options.off)),
    )
  command('remove', 'give a domain up', 'Removes a domain: it no longer serves the game.')
    .argument('<domain>', named)
    .action((name: string, options: Options) => run(options, (client, game) => remove(client, game, name)))
}

const load = async (client: Client) => Promise.all([client.api(), import('../../clients/cli/domains.ts')])

async function list(client: Client, game: Game): Promise<void> {
  const [api, { listDomains, todoOf }] = await load(client)
  const domains = await listDomains(api, game.id)
  const { terminal } = client
  if (domains.length === 0)
    return terminal.result(
      { domains },
      () =>
        `The game has no domain of its own. Add one: gameyard games domains add play.example.com --game ${game.slug}`,
    )
  const rows = domains.map((domain) => [
    `${domain.name}${domain.primary ? ' (main)' : ''}`,
    domain.state,
    todoOf(domain) ?? 'nothing',
  ])
  const lacking = domains.filter(lacksRecord).map((domain) => `\n\n${recordsFor(terminal, domain)}`)
  terminal.result({ domains }, () => `${terminal.table(['DOMAIN', 'STATE', 'TO DO'], rows)}${lacking.join('')}`)
}

async function add(client: Client, game: Game, name: string): Promise<void> {
  const [api, { addDomain }] = await load(client)
  const domain = await addDomain(api, game.id, name)
  client.terminal.result(domain, () =>
    [
      recordsFor(client.terminal, domain),
      '',
      `The platform checks them repeatedly. To check now: gameyard games domains verify ${domain.name} --game ${game.slug}`,
    ].join('\n'),
  )
}

async function verify(client: Client, game: Game, name: string): Promise<void> {
  const [api, { todoOf, verifyDomain }] = await load(client)
  const domain = await verifyDomain(api, game.id, name)
  if (domain.state !== 'verified') process.exitCode = 1
  const todo = todoOf(domain)
  const { terminal } = client
  terminal.result(domain, () =>
    domain.state === 'verified'
      ? `${terminal.style('green', 'Verified')}  ${domain.url}${todo ? `\n  ${todo}` : ''}`
      : `Not verified: ${todo}.\n\n${recordsOf(terminal, domain)}`,
  )
}

async function setPrimary(client: Client, game: Game, name: string, primary: boolean): Promise<void> {
  const [api, { setPrimaryDomain }] = await load(client)
  const domain = await setPrimaryDomain(api, game.id, name, primary)
  client.terminal.result(domain, () =>
    primary ? `All other addresses of the game lead to ${domain.url} now.` : 'Every address shows the game itself now.',
  )
}

async function remove(client: Client, game: Game, name: string): Promise<void> {
  const [api, { removeDomain }] = await load(client)
  await removeDomain(api, game.id, name)
  client.terminal.result({ removed: name }, () => `Removed ${name}. Take its records out of the DNS too.`)
}

/** Whether the next step of a domain is one in its DNS. */
const lacksRecord = ({ state, address }: Domain): boolean => state !== 'verified' || address === 'missing'

const recordsFor = (terminal: Terminal, domain: Domain): string =>
  `Add these records to the DNS of ${domain.name}:\n\n${recordsOf(terminal, domain)}`

const recordsOf = (terminal: Terminal, { records }: Domain): string =>
  terminal.table(
    ['TYPE', 'NAME', 'VALUE'],
    records.map(({ type, name, value }) => [type, name, value]),
  )

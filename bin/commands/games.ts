import { type Command, Option } from 'commander'
import type { CreatedGame, Features, Game } from '../../clients/cli/games.ts'
import type { Terminal } from '../../clients/cli/terminal.ts'
import { type Client, type ClientOptions, collect, positive, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'
import { configureActivity } from './games-activity.ts'
import { configureAnalytics } from './games-analytics.ts'
import { configureBoards } from './games-boards.ts'
import { configureDomains } from './games-domains.ts'
import { configureDownload } from './games-download.ts'
import { configureErrors } from './games-errors.ts'
import { configureMedia } from './games-media.ts'
import { configureMembers } from './games-members.ts'

interface Fields {
  title?: string
  description?: string
  home?: string
  tag?: string[]
  visibility?: 'public' | 'private'
  input?: string[]
  players?: string[]
  language?: string[]
  orientation?: string
  accessibility?: string[]
}
type CreateOptions = Fields & { slug?: string; writeEnv?: string }
type UpdateOptions = ClientOptions &
  Fields & {
    slug?: string
    playable?: boolean
    isolation?: 'auto' | 'on' | 'off'
    widget?: boolean
    remix?: boolean
    clickToStart?: boolean
    savesBytes?: number
  }

export function configure(games: Command, installation: Installation): void {
  const run = (options: ClientOptions, work: (client: Client) => Promise<void>) =>
    runClient(options, installation, work)
  games
    .description('Your games. A game is named by its slug, the first part of its address, or by its id.')
    .addHelpText(
      'after',
      `
Examples:
  gameyard games list
  gameyard games create --title Duo --description "Two dots, one yard." --tag co-op
  gameyard games update duo --visibility private
  gameyard games open duo
  gameyard games pin dep_01K…`,
    )

  withClientOptions(games.command('list'))
    .summary('list your games')
    .description('Lists your games, newest first.')
    .addOption(new Option('--limit <number>', 'at most so many').argParser(positive).default(100))
    .action((options: ClientOptions & { limit: number }) => run(options, (client) => list(client, options.limit)))

  withClientOptions(games.command('get'))
    .summary('show a game')
    .description('Shows a game, by default that of gameyard.json.')
    .argument('[game]', 'slug or id')
    .action((game: string | undefined, options: ClientOptions) => run(options, (client) => show(client, game)))

  withFields(withClientOptions(games.command('create')), true)
    .summary('make a game')
    .description('Creates a game. Its client secret, for a server of your own, is shown this once.')
    .option('--slug <slug>', 'its address; default: made from the title')
    .option('--write-env <file>', 'append the settings of its server to a file such as .env, and show no secret')
    .addHelpText(
      'after',
      `
Examples:
  gameyard games create --title Duo --description "Two dots, one yard." --tag co-op --tag puzzle
  gameyard games create --title Duo --description "Two dots." --home https://duo.example.org --write-env .env`,
    )
    .action((options: ClientOptions & CreateOptions) => run(options, (client) => create(client, options)))

  withFields(withClientOptions(games.command('update')), false)
    .summary('change a game')
    .description('Changes the given fields only.')
    .argument('[game]', 'slug or id; default: that of gameyard.json')
    .option('--slug <slug>', 'another address; the old one leads to it for 90 days')
    .option('--playable', 'show the game on its page of the platform, in a frame')
    .option('--no-playable', 'take it off that page')
    .addOption(
      new Option(
        '--isolation <when>',
        'serve it cross-origin isolated, for threads; auto: if a .wasm of the build uses shared memory',
      ).choices(['auto', 'on', 'off']),
    )
    .option('--widget', 'put the sign-in button on its pages')
    .option('--no-widget', 'leave the sign-in to the game')
    .option('--remix', 'let others make their own version, while it is public')
    .option('--no-remix', 'keep its files to itself')
    .option('--click-to-start', 'load it when a player presses a button on its page')
    .option('--no-click-to-start', 'load it with its page')
    .addOption(
      new Option(
        '--saves-bytes <number>',
        'the most bytes of all saves of one player, with earlier versions',
      ).argParser(positive),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  gameyard games update duo --title "Duo!"\n  gameyard games update duo --visibility private\n  gameyard games update duo --no-playable',
    )
    .action((game: string | undefined, options: UpdateOptions) =>
      run(options, (client) => update(client, game, options)),
    )

  withClientOptions(games.command('delete'))
    .summary('delete a game')
    .description(
      'Deletes a game. You can restore it for 30 days under My games. Until then it counts as one of your games, and so do its files.',
    )
    .argument('<game>', 'slug or id')
    .option('--forever', 'delete it for good, also one that is deleted already; name its slug')
    .addHelpText('after', '\nExamples:\n  gameyard games delete duo\n  gameyard games delete duo --forever')
    .action((game: string, options: ClientOptions & { forever?: true }) =>
      run(options, (client) => remove(client, game, options.forever === true)),
    )

  withClientOptions(games.command('open'))
    .summary('open a game in the browser')
    .description('Opens the page of a game in your browser, by default of the game of gameyard.json.')
    .argument('[game]', 'slug or id')
    .addOption(new Option('--page <page>', 'which one').choices(['play', 'manage', 'game']).default('play'))
    .addHelpText('after', '\nExamples:\n  gameyard games open duo\n  gameyard games open duo --page manage')
    .action((game: string | undefined, options: ClientOptions & { page: 'play' | 'manage' | 'game' }) =>
      run(options, (client) => open(client, game, options.page)),
    )

  for (const pinned of [true, false]) {
    const name = pinned ? 'pin' : 'unpin'
    withClientOptions(games.command(name))
      .summary(pinned ? 'keep a deploy for rollbacks' : 'let a deploy go in its turn')
      .description(
        pinned
          ? 'Pins a deploy: it stays however many come after it. `gameyard rollback --list` shows the ids.'
          : 'Unpins a deploy: the platform deletes it once enough newer ones were live.',
      )
      .argument('<deploy>', 'its id')
      .addHelpText('after', `\nExample:\n  gameyard games ${name} dep_01K…`)
      .action((deploy: string, options: ClientOptions) => run(options, (client) => pin(client, deploy, pinned)))
  }

  configureActivity(games, installation, chosenGame)
  configureAnalytics(games, installation, chosenGame)
  configureErrors(games, installation, chosenGame)
  configureDownload(games, installation, chosenGame)
  configureMembers(games, installation, chosenGame)
  configureMedia(games, installation, chosenGame)
  configureDomains(games, installation, chosenGame)
  configureBoards(games, installation, chosenGame)
}

const withFields = (command: Command, required: boolean): Command => {
  const text = (flags: string, description: string) => new Option(flags, description).makeOptionMandatory(required)
  return command
    .addOption(text('--title <text>', 'its name, up to 120 characters'))
    .addOption(text('--description <text>', 'what it is'))
    .option('--tag <tag>', 'letters, digits and hyphens; once for each', collect)
    .option('--home <address>', 'its address, when another server hosts it')
    .addOption(new Option('--visibility <who>', 'who sees it').choices(['public', 'private']))
    .option('--input <input>', 'touch, keyboard, mouse or gamepad; once for each; none: not stated', collect)
    .option('--players <who>', 'single, local (on one device) or online; once for each; none: not stated', collect)
    .option('--language <tag>', 'its language, such as en or pt-BR, that of its title first; none: not stated', collect)
    .addOption(
      new Option('--orientation <orientation>', 'how a phone is held; none: not stated').choices([
        'any',
        'portrait',
        'landscape',
        'none',
      ]),
    )
    .option('--accessibility <feature>', 'such as subtitles; once for each; none: not stated', collect)
}

/** Returns the values of a repeated option; `none` stands for an empty list. */
const listed = (values: string[]): string[] => values.filter((value) => value !== 'none')

const featuresOf = ({ input, players, language, orientation, accessibility }: Fields): Partial<Features> => ({
  ...(input === undefined ? {} : { inputs: listed(input) }),
  ...(players === undefined ? {} : { players: listed(players) }),
  ...(language === undefined ? {} : { languages: listed(language) }),
  ...(orientation === undefined ? {} : { orientation: orientation === 'none' ? null : orientation }),
  ...(accessibility === undefined ? {} : { accessibility: listed(accessibility) }),
})

const fieldsOf = ({ title, description, home, tag, visibility, ...fields }: Fields) => ({
  ...(title === undefined ? {} : { title }),
  ...(description === undefined ? {} : { description }),
  ...(home === undefined ? {} : { url: home }),
  ...(tag === undefined ? {} : { tags: tag }),
  ...(visibility === undefined ? {} : { visibility }),
  ...(Object.keys(featuresOf(fields)).length > 0 ? { features: featuresOf(fields) } : {}),
})

async function list(client: Client, limit: number): Promise<void> {
  const { terminal } = client
  const [api, { listGames }, { truncate }] = await Promise.all([
    client.api(),
    import('../../clients/cli/games.ts'),
    import('../../clients/cli/terminal.ts'),
  ])
  const games = await listGames(api, limit)
  terminal.result({ games }, () =>
    games.length === 0
      ? 'You have no games yet. Make one: gameyard deploy DIR --create'
      : terminal.table(
          ['SLUG', 'TITLE', 'WHO', 'PLAYS', 'PLAY'],
          games.map(({ slug, title, visibility, approval, stats, playUrl, liveDeployId }) => [
            slug,
            title.length > 40 ? `${truncate(title, 39)}…` : title,
            approval?.state ?? visibility,
            String(stats.plays),
            liveDeployId ? playUrl : `${playUrl} (nothing deployed)`,
          ]),
        ),
  )
}

/** Returns the named game, or the game of gameyard.json. */
export async function chosenGame(client: Client, named: string | undefined): Promise<{ game: Game }> {
  const [api, { getGame }, { gameOf }] = await Promise.all([
    client.api(),
    import('../../clients/cli/games.ts'),
    import('../../clients/cli/project.ts'),
  ])
  const idOrSlug = named ?? gameOf(await client.project(), api.baseUrl)
  if (idOrSlug === undefined) {
    const { usageError } = await import('../../clients/cli/errors.ts')
    throw usageError('Which game? There is no gameyard.json here.', 'Name its slug; `gameyard games list` shows yours.')
  }
  return { game: await getGame(api, idOrSlug) }
}

async function show(client: Client, named: string | undefined): Promise<void> {
  const { game } = await chosenGame(client, named)
  client.terminal.result(game, () => describe(client.terminal, game))
}

function describe(terminal: Terminal, game: Game): string {
  const { authWidget } = game.settings
  const facts: [string, string][] = [
    ['Id', game.id],
    ['Address', game.url],
    ['Play', game.playUrl],
    ['Manage', game.manageUrl],
    ['Seen by', seenBy(game)],
    ['Tags', game.tags.join(', ') || 'none'],
    ...statedBy(game),
    ['Live', game.liveDeployId ?? 'nothing deployed yet'],
    ['Plays', String(game.stats.plays)],
    ['Isolated', isolationOf(game)],
    ['Sign-in', authWidget === 'on' ? 'a button on its pages' : 'left to the game (gameyard games update --widget)'],
  ]
  return [
    `${terminal.style('bold', game.title)}${game.playable ? '' : ' (closed)'}`,
    ...facts.map(([name, value]) => `  ${terminal.style('dim', name.padEnd(8))} ${value}`),
  ].join('\n')
}

/** Describes what the game states about itself. */
function statedBy({ features }: Game): [string, string][] {
  if (!features) return []
  const { inputs, players, languages, orientation, accessibility } = features
  const facts: [string, string][] = [
    ['Input', inputs.join(', ')],
    ['Players', players.join(', ')],
    ['Language', languages.join(', ')],
    ['Phone', orientation ?? ''],
    ['For all', accessibility.join(', ')],
  ]
  return facts.filter(([, value]) => value !== '')
}

/** Explains who can open the game. */
function seenBy({ visibility, approval }: Game): string {
  if (approval?.state === 'waiting') return 'you: it waits for the approval of the platform'
  if (approval) return `you: it was not approved (${approval.reason})`
  return visibility === 'public' ? 'everybody' : 'you and whom you invite'
}

/** Explains cross-origin isolation, its benefit and its conditions. */
function isolationOf({ settings: { crossOriginIsolated }, isolated = crossOriginIsolated === true }: Game): string {
  if (isolated)
    return 'yes: threads and SharedArrayBuffer work; what it loads from elsewhere must allow that (CORP or CORS)'
  return crossOriginIsolated === 'auto'
    ? 'no: no .wasm of its live build uses shared memory (automatic)'
    : 'no: it has no threads and no SharedArrayBuffer (gameyard games update --isolation auto)'
}

async function create(client: Client, { writeEnv, slug, ...options }: CreateOptions): Promise<void> {
  const { terminal } = client
  const api = await client.api()
  const [{ EnvFile }, { resolve }] = await Promise.all([import('../../clients/cli/env-file.ts'), import('node:path')])
  const envFile = writeEnv === undefined ? null : await EnvFile.open(resolve(client.cwd, writeEnv))
  const { randomUUID } = await import('node:crypto')
  const fields = { ...fieldsOf(options), ...(slug === undefined ? {} : { slug }) }
  const game = await api.post<CreatedGame>('/api/games', fields, {
    headers: { 'idempotency-key': randomUUID() },
    repeatable: true,
  })
  await envFile?.append(game, api.baseUrl)
  const { clientSecret, ...oauth } = game.oauth
  terminal.result(envFile ? Object.assign(game, { oauth }) : game, () =>
    [
      describe(terminal, game),
      '',
      `  Client id      ${oauth.clientId}`,
      envFile
        ? `  Client secret  in ${writeEnv}, with the other settings of the server; keep it out of your repository`
        : `  Client secret  ${clientSecret}   (shown this once; only a server of your own needs it)`,
      '',
      `Next: gameyard deploy DIR --game ${game.slug}`,
    ].join('\n'),
  )
}

async function update(client: Client, named: string | undefined, options: UpdateOptions): Promise<void> {
  const { slug, playable, isolation, widget, remix, clickToStart, savesBytes } = options
  const settings = {
    ...(isolation === undefined ? {} : { crossOriginIsolated: isolation === 'auto' ? 'auto' : isolation === 'on' }),
    ...(widget === undefined ? {} : { authWidget: widget ? 'on' : 'off' }),
    ...(remix === undefined ? {} : { remix }),
    ...(clickToStart === undefined ? {} : { clickToStart }),
    ...(savesBytes === undefined ? {} : { saves: { bytes: savesBytes } }),
  }
  const changes = {
    ...fieldsOf(options),
    ...(slug === undefined ? {} : { slug }),
    ...(playable === undefined ? {} : { playable }),
    ...(Object.keys(settings).length > 0 ? { settings } : {}),
  }
  if (Object.keys(changes).length === 0) {
    const { usageError } = await import('../../clients/cli/errors.ts')
    throw usageError('Nothing to change.', 'Name what: gameyard games update duo --title "Duo!"')
  }
  const { game: before } = await chosenGame(client, named)
  const api = await client.api()
  const game = await api.patch<Game>(`/api/games/${before.id}`, changes)
  client.terminal.result(game, () => describe(client.terminal, game))
}

async function remove(client: Client, named: string, forever: boolean): Promise<void> {
  const api = await client.api()
  // The slug that was typed is the confirmation.
  const query = forever ? { forever, confirm: named } : {}
  await api.delete(`/api/games/${encodeURIComponent(named)}`, { query })
  client.terminal.result({ deleted: named, forever }, () =>
    forever ? `Deleted ${named} for good.` : `Deleted ${named}. You can restore it for 30 days, under My games.`,
  )
}

async function pin(client: Client, id: string, pinned: boolean): Promise<void> {
  const api = await client.api()
  const deploy = await api.patch<{ id: string }>(`/api/deploy/${encodeURIComponent(id)}`, { pinned })
  client.terminal.result(deploy, () =>
    pinned ? `${deploy.id} is pinned: it stays however many come after it.` : `${deploy.id} is no longer pinned.`,
  )
}

async function open(client: Client, named: string | undefined, page: 'play' | 'manage' | 'game'): Promise<void> {
  const { terminal, env } = client
  const { game } = await chosenGame(client, named)
  const { openBrowser } = await import('../../clients/cli/open-browser.ts')
  const url = { play: game.playUrl, manage: game.manageUrl, game: game.url }[page]
  const opened = await openBrowser(url, env)
  terminal.result({ url, opened }, () => (opened ? `Opened ${url}` : url))
}

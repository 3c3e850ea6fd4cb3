import { type Command, Option } from 'commander'
import type { App, AppWithSecret } from '../../clients/cli/apps.ts'
import { type Client, type ClientOptions, collect, positive, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Fields = { name?: string; homePage?: string; redirect?: string[]; signature?: 'ES256' | 'RS256' }
type CreateOptions = ClientOptions & Fields & { public?: true }
type UpdateOptions = ClientOptions & Fields & { addRedirect?: string[] }

export function configure(apps: Command, installation: Installation): void {
  const run = (options: ClientOptions, work: (client: Client) => Promise<void>) =>
    runClient(options, installation, work)
  const command = (name: string, summary: string, description: string) =>
    withClientOptions(apps.command(name)).summary(summary).description(description)
  const ofOne = (name: string, summary: string, description: string) =>
    command(name, summary, description).argument('<app>', 'its id or client id')

  apps
    .description(
      'Your OAuth applications: games with a server of their own, websites and programs that sign players in.',
    )
    .addHelpText(
      'after',
      `
Examples:
  gameyard apps create --name "My website" --redirect https://example.org/callback
  gameyard apps create --name "My page" --public --redirect https://example.org/page.html
  gameyard apps list
  gameyard apps update app_01K… --add-redirect http://localhost:5173/callback
  gameyard apps secret app_01K… --grace 3600`,
    )

  command(
    'list',
    'list your applications',
    'Lists your applications, newest first. Each of your games has one.',
  ).action((options: ClientOptions) => run(options, list))
  ofOne('get', 'show an application', 'Shows an application.').action((app: string, options: ClientOptions) =>
    run(options, (client) => show(client, app)),
  )
  withFields(
    command(
      'create',
      'register an application',
      'Registers an application. Its client secret is shown this once; one with --public has none and uses PKCE.',
    ),
    true,
  )
    .option('--public', 'it runs in a browser or on a device, and can keep no secret')
    .action((options: CreateOptions) => run(options, (client) => create(client, options)))
  withFields(
    ofOne('update', 'change an application', 'Changes the given fields only. --redirect replaces all redirect URIs.'),
    false,
  )
    .option('--add-redirect <address>', 'another redirect URI, beside those that it has; once for each', collect)
    .action((app: string, options: UpdateOptions) => run(options, (client) => update(client, app, options)))
  ofOne('secret', 'make a new client secret', 'Makes a new client secret, which is shown this once.')
    .addOption(
      new Option(
        '--grace <seconds>',
        'how long the old one is still valid, up to 604800; default: it ends now, with the sign-ins through it',
      ).argParser(positive),
    )
    .action((app: string, options: ClientOptions & { grace?: number }) =>
      run(options, (client) => renewSecret(client, app, options.grace ?? 0)),
    )
  ofOne(
    'delete',
    'delete an application',
    'Deletes an application that is none of a game. All access that players gave it ends.',
  ).action((app: string, options: ClientOptions) => run(options, (client) => remove(client, app)))
}

const withFields = (command: Command, required: boolean): Command => {
  const name = new Option('--name <text>', 'what players read when they are asked whether it may sign them in')
  const redirect = new Option('--redirect <address>', 'where players come back to; once for each').argParser(collect)
  return command
    .addOption(name.makeOptionMandatory(required))
    .addOption(redirect.makeOptionMandatory(required))
    .option('--home-page <address>', 'its home page; none: it has none')
    .addOption(
      new Option('--signature <algorithm>', 'how its ID tokens are signed; default: ES256').choices(['ES256', 'RS256']),
    )
}

const fieldsOf = ({ name, homePage, redirect, signature }: Fields) => ({
  ...(name === undefined ? {} : { name }),
  ...(homePage === undefined ? {} : { homepageUrl: homePage === 'none' ? null : homePage }),
  ...(redirect === undefined ? {} : { redirectUris: redirect }),
  ...(signature === undefined ? {} : { idTokenSignedResponseAlg: signature }),
})

const load = (client: Client) => Promise.all([client.api(), import('../../clients/cli/apps.ts')])

async function list(client: Client): Promise<void> {
  const { terminal } = client
  const [[api, { listApps }], { formatAgo }] = await Promise.all([
    load(client),
    import('../../clients/cli/terminal.ts'),
  ])
  const apps = await listApps(api)
  const now = new Date()
  terminal.result({ apps }, () =>
    apps.length === 0
      ? 'You have no applications yet. Register one: gameyard apps create'
      : terminal.table(
          ['ID', 'NAME', 'CLIENT ID', 'KIND', 'LAST USED'],
          apps.map(({ id, name, clientId, gameId, public: isPublic, lastUsedAt }) => [
            id,
            name,
            clientId,
            gameId ? 'game' : isPublic ? 'public' : 'secret',
            lastUsedAt ? formatAgo(lastUsedAt, now) : 'never',
          ]),
        ),
  )
}

async function show(client: Client, named: string): Promise<void> {
  const [api, { getApp }] = await load(client)
  const app = await getApp(api, named)
  client.terminal.result(app, () => describe(client, app))
}

async function create(client: Client, options: CreateOptions): Promise<void> {
  const [api, { createApp }] = await load(client)
  const app = await createApp(api, { ...fieldsOf(options), ...(options.public ? { public: true } : {}) })
  client.terminal.result(app, () => describe(client, app))
}

async function update(client: Client, named: string, { addRedirect = [], ...options }: UpdateOptions): Promise<void> {
  const [api, { getApp, updateApp }] = await load(client)
  const { id, redirectUris } = await getApp(api, named)
  const fields = fieldsOf(options)
  const changes =
    addRedirect.length === 0
      ? fields
      : { ...fields, redirectUris: [...new Set([...(fields.redirectUris ?? redirectUris), ...addRedirect])] }
  if (Object.keys(changes).length === 0) {
    const { usageError } = await import('../../clients/cli/errors.ts')
    throw usageError('Nothing to change.', `gameyard apps update ${id} --add-redirect http://localhost:5173/callback`)
  }
  const app = await updateApp(api, id, changes)
  client.terminal.result(app, () => describe(client, app))
}

async function renewSecret(client: Client, named: string, graceSeconds: number): Promise<void> {
  const [api, { getApp, renewAppSecret }] = await load(client)
  const { id } = await getApp(api, named)
  const app = await renewAppSecret(api, id, graceSeconds)
  client.terminal.result(app, () => describe(client, app))
}

async function remove(client: Client, named: string): Promise<void> {
  const [api, { getApp, deleteApp }] = await load(client)
  const { id, name, gameId } = await getApp(api, named)
  if (gameId) {
    const { CliError } = await import('../../clients/cli/errors.ts')
    const hint = 'It goes with its game: gameyard games delete'
    throw new CliError(`Nothing was deleted: players of a game sign in through ${name}.`, { hint })
  }
  await deleteApp(api, id)
  client.terminal.result({ id, deleted: true }, () => `Deleted ${name}. Nobody can sign in through it any more.`)
}

function describe({ terminal }: Client, app: App | AppWithSecret): string {
  const secret = 'clientSecret' in app ? app.clientSecret : null
  const facts: [string, string][] = [
    ['Id', app.id],
    ['Client id', app.clientId],
    ...(secret ? [['Client secret', `${secret}   (shown this once)`] as [string, string]] : []),
    ['Kind', app.public ? 'public: it has no secret and uses PKCE' : 'with a client secret'],
    ...(app.gameId ? [['Game', app.gameId] as [string, string]] : []),
    ...(app.homepageUrl ? [['Home page', app.homepageUrl] as [string, string]] : []),
    ...app.redirectUris.map((uri, index): [string, string] => [index === 0 ? 'Redirects' : '', uri]),
    ['ID tokens', app.idTokenSignedResponseAlg],
  ]
  return [
    terminal.style('bold', app.name),
    ...facts.map(([name, value]) => `  ${terminal.style('dim', name.padEnd(13))} ${value}`),
  ].join('\n')
}

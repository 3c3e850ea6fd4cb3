import type { Command } from 'commander'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

export function configure(tokens: Command, installation: Installation): void {
  const run = (options: ClientOptions, work: (client: Client) => Promise<void>) =>
    runClient(options, installation, work)
  tokens
    .description(
      'The tokens of this machine. A token cannot list, create or revoke other tokens, which limits a theft: ' +
        'your settings in a browser do that, and `create` opens them.',
    )
    .addHelpText(
      'after',
      `
Examples:
  gameyard tokens list                  which platforms this machine is signed in to
  gameyard tokens create                opens your settings, where tokens with chosen scopes are made
  gameyard tokens revoke                revokes the token in use, SERVICE_API_TOKEN included`,
    )
  withClientOptions(tokens.command('list'))
    .summary('list the tokens of this machine')
    .action((options: ClientOptions) => run(options, list))
  withClientOptions(tokens.command('create'))
    .summary('open the page where tokens are made')
    .description('Opens the page of your settings for tokens. It needs a browser session, not a token.')
    .action((options: ClientOptions) => run(options, create))
  withClientOptions(tokens.command('revoke'))
    .summary('revoke the token in use')
    .description('Revokes the token that commands would use now. It stops working at once, everywhere.')
    .action((options: ClientOptions) => run(options, revoke))
}

/** The length of the visible part of a token, as in the settings of the platform. */
const PREFIX_LENGTH = 12

async function list(client: Client): Promise<void> {
  const { terminal, credentials, env } = client
  const { formatAgo } = await import('../../clients/cli/terminal.ts')
  const { platforms, current } = await credentials.read()
  const tokens = Object.entries(platforms).map(([baseUrl, { token, user, label, savedAt }]) => ({
    baseUrl,
    user,
    label,
    prefix: token.slice(0, PREFIX_LENGTH),
    savedAt,
    current: baseUrl === current,
  }))
  const fromEnvironment = env.SERVICE_API_TOKEN?.trim().slice(0, PREFIX_LENGTH) ?? null
  const now = new Date()
  terminal.result({ tokens, environment: fromEnvironment }, () =>
    [
      tokens.length === 0
        ? 'This machine is signed in nowhere.'
        : terminal.table(
            ['PLATFORM', 'ACCOUNT', 'TOKEN', 'SINCE', 'LABEL'],
            tokens.map(({ baseUrl, user, prefix, savedAt, label }) => [
              baseUrl,
              user.name,
              `${prefix}…`,
              formatAgo(savedAt, now),
              label,
            ]),
          ),
      ...(fromEnvironment ? [`SERVICE_API_TOKEN is set (${fromEnvironment}…), and takes precedence over these.`] : []),
    ].join('\n'),
  )
}

async function create(client: Client): Promise<void> {
  const { terminal, env } = client
  const { openBrowser } = await import('../../clients/cli/open-browser.ts')
  const url = `${await client.baseUrl()}/settings/tokens`
  const opened = await openBrowser(url, env)
  terminal.result(
    { url, opened },
    () => `${opened ? 'Opened' : 'Open'} ${url}\nThen: gameyard login --with-token, or SERVICE_API_TOKEN`,
  )
}

async function revoke(client: Client): Promise<void> {
  const { terminal, credentials } = client
  const api = await client.api()
  await api.delete('/api/cli/tokens')
  const { baseUrl, token, tokenFrom } = api.connection
  const { platforms } = await credentials.read()
  if (platforms[baseUrl]?.token === token) await credentials.remove(baseUrl)
  const prefix = token.slice(0, PREFIX_LENGTH)
  terminal.result({ baseUrl, prefix, tokenFrom, revoked: true }, () => `Revoked ${prefix}… at ${baseUrl}.`)
}

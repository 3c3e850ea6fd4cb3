import type { Command } from 'commander'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

export function configure(command: Command, installation: Installation): void {
  withClientOptions(command)
    .description('Shows the owner of the token in use, its source, and its platform.')
    .addHelpText('after', '\nExamples:\n  gameyard whoami\n  gameyard whoami --json | jq -r .user.id')
    .action((options: ClientOptions) => runClient(options, installation, show))
}

async function show(client: Client): Promise<void> {
  const { terminal, credentials } = client
  const [api, { whoami }] = await Promise.all([client.api(), import('../../clients/cli/login.ts')])
  const { user, tokenLabel } = await whoami(api)
  const { baseUrl, tokenFrom } = api.connection
  const from = tokenFrom === 'environment' ? 'SERVICE_API_TOKEN' : credentials.file
  terminal.result({ baseUrl, user, tokenLabel, tokenFrom }, () =>
    [
      `${terminal.style('bold', user.name)}${user.email ? ` (${user.email})` : ''} at ${baseUrl}`,
      terminal.style('dim', `token "${tokenLabel}" from ${from}`),
    ].join('\n'),
  )
}

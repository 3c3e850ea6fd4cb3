import type { Command } from 'commander'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

export function configure(command: Command, installation: Installation): void {
  withClientOptions(command)
    .description('Signs out: revokes the token of this machine at the platform, and deletes it here.')
    .addHelpText('after', '\nExamples:\n  gameyard logout\n  gameyard logout --url https://yard.example.org')
    .action((options: ClientOptions) => runClient(options, installation, logout))
}

async function logout(client: Client): Promise<void> {
  const { terminal, credentials, userAgent } = client
  const [{ revoke }, { CliError }] = await Promise.all([
    import('../../clients/cli/login.ts'),
    import('../../clients/cli/errors.ts'),
  ])
  const baseUrl = await client.baseUrl()
  const account = (await credentials.read()).platforms[baseUrl]
  if (!account) {
    throw new CliError(`You are not signed in to ${baseUrl}.`, {
      code: 'not_signed_in',
      hint: 'This does not change SERVICE_API_TOKEN; to revoke that token: gameyard tokens revoke',
    })
  }
  const revoked = await revoke(baseUrl, account, userAgent)
  await credentials.remove(baseUrl)
  if (!revoked) {
    terminal.note(
      `${baseUrl} did not revoke the token: it did not answer, or knew it no more. See ${baseUrl}/settings/tokens.`,
    )
  }
  terminal.result({ baseUrl, revoked }, () => `Signed out of ${baseUrl}.`)
}

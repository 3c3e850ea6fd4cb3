import type { Command } from 'commander'
import type { Check } from '../../clients/cli/doctor.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

export function configure(command: Command, installation: Installation): void {
  withClientOptions(command)
    .description(
      'Looks at what client commands stand on: settings, gameyard.json, connection, clock, token. Exits with 1 if one fails.',
    )
    .addHelpText('after', '\nExamples:\n  gameyard doctor\n  gameyard doctor --url https://yard.example.org --json')
    .action((options: ClientOptions) =>
      runClient(options, installation, (client) => run(client, options, installation)),
    )
}

async function run(client: Client, { url }: ClientOptions, { version }: Installation): Promise<void> {
  const { terminal, credentials, env, project, baseUrl, userAgent } = client
  const { examine } = await import('../../clients/cli/doctor.ts')
  const checks: Check[] = [
    {
      name: 'Program',
      status: 'ok',
      message: `gameyard ${version} on Node ${process.versions.node}, ${process.platform}`,
    },
  ]
  for await (const check of examine({ credentials, env, url, project, baseUrl, userAgent })) checks.push(check)
  const healthy = checks.every(({ status }) => status !== 'failed')
  if (!healthy) process.exitCode = 1
  const marks = {
    ok: terminal.style('green', 'ok     '),
    warning: terminal.style('yellow', 'warning'),
    failed: terminal.style('red', 'failed '),
  }
  terminal.result({ healthy, checks }, () =>
    checks
      .map(
        ({ name, status, message, hint }) =>
          `${marks[status]}  ${name.padEnd(13)} ${message}${hint ? `\n${' '.repeat(24)}${hint}` : ''}`,
      )
      .join('\n'),
  )
}

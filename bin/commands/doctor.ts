import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import type { Check } from '../../clients/cli/doctor.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'
import { type ConfigOptions, loadProgramConfig } from '../options.ts'

type Options = ClientOptions & Pick<ConfigOptions, 'config' | 'data'>

export function configure(command: Command, installation: Installation): void {
  withClientOptions(command)
    .option('-c, --config <file>', 'look at the platform that this configuration describes, on its own machine')
    .option('-d, --data <folder>', 'with its data in this folder')
    .description(
      "Finds out why something does not work, with a fix beside each finding. With --config, or in a folder with a gameyard.yaml, it looks at a platform on its own machine: data folder, disk, clock, database, storage, mail, Blender, names, certificate, proxy. Otherwise at what the game developer's commands stand on: settings, gameyard.json, connection, clock, token. Exits with 1 if one fails.",
    )
    .addHelpText(
      'after',
      `
Examples:
  gameyard doctor
  gameyard doctor --url https://yard.example.org --json
  gameyard doctor --config /etc/gameyard/gameyard.yaml`,
    )
    .action((options: Options) => runClient(options, installation, (client) => run(client, options, installation)))
}

async function run(client: Client, options: Options, { version }: Installation): Promise<void> {
  const { terminal } = client
  const checks: Check[] = [
    {
      name: 'Program',
      status: 'ok',
      message: `gameyard ${version} on Node ${process.versions.node}, ${process.platform}`,
    },
  ]
  for await (const check of await examinationOf(client, options, version)) checks.push(check)
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

/** Examines the platform of this machine, or the remote platform that this machine uses. */
async function examinationOf(client: Client, options: Options, version: string): Promise<AsyncGenerator<Check>> {
  const here = options.config ?? options.data ?? client.env.SERVICE_CONFIG ?? (existsSync('gameyard.yaml') || undefined)
  if (here !== undefined && options.url === undefined) {
    const { diagnoseServer } = await import('../doctor/server.ts')
    return diagnoseServer(await loadProgramConfig(options), version)
  }
  const { credentials, env, project, baseUrl, userAgent } = client
  const { diagnose } = await import('../../clients/cli/doctor.ts')
  return diagnose({ credentials, env, url: options.url, project, baseUrl, userAgent })
}

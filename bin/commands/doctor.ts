import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import type { Check } from '../../clients/cli/doctor.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'
import { type ConfigOptions, loadProgramConfig } from '../options.ts'

type Options = ClientOptions & Pick<ConfigOptions, 'config' | 'data'> & { mail?: string }

export function configure(command: Command, installation: Installation): void {
  withClientOptions(command)
    .option('-c, --config <file>', 'look at the platform that this configuration describes, on its own machine')
    .option('-d, --data <folder>', 'with its data in this folder')
    .option('--mail <address>', 'send a message to this address, and show the conversation with the mail server')
    .argument('[dir]', 'a finished build: says what a deploy of it would find, without a platform')
    .description(
      "Finds out why something does not work, with a fix beside each finding. With --config, or in a folder with a gameyard.yaml, it looks at a platform on its own machine: data folder, disk, clock, database, storage, mail, Blender, names, certificate, proxy. Otherwise at what the game developer's commands stand on: settings, gameyard.json, connection, clock, token. With a folder, it looks at the build in it: its engine, its need of shared memory, its room script, and what will not work, such as addresses of missing files. Exits with 1 if one fails; warnings exit with 0.",
    )
    .addHelpText(
      'after',
      `
Examples:
  gameyard doctor
  gameyard doctor dist                            before a deploy
  gameyard doctor --url https://yard.example.org --json
  gameyard doctor --config /etc/gameyard/gameyard.yaml
  gameyard doctor --config /etc/gameyard/gameyard.yaml --mail host@example.org`,
    )
    .action((dir: string | undefined, options: Options) =>
      runClient({ ...options, folder: dir }, installation, (client) => run(client, dir, options, installation)),
    )
}

async function run(
  client: Client,
  dir: string | undefined,
  options: Options,
  { version }: Installation,
): Promise<void> {
  const { terminal } = client
  const checks: Check[] = [
    {
      name: 'Program',
      status: 'ok',
      message: `gameyard ${version} on Node ${process.versions.node}, ${process.platform}`,
    },
  ]
  for await (const check of await examinationOf(client, dir, options, version)) checks.push(check)
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
        ({ name, status, message, hint, details }) =>
          `${marks[status]}  ${name.padEnd(13)} ${message}${[hint ?? [], details ?? []]
            .flat()
            .map((line) => `\n${' '.repeat(24)}${line}`)
            .join('')}`,
      )
      .join('\n'),
  )
}

/** Examines a folder, the platform of this machine, or the remote platform that this machine uses. */
async function examinationOf(
  client: Client,
  dir: string | undefined,
  options: Options,
  version: string,
): Promise<AsyncGenerator<Check>> {
  if (dir !== undefined) {
    const [{ resolve }, { diagnoseBuild }] = await Promise.all([import('node:path'), import('../doctor/build.ts')])
    return diagnoseBuild(resolve(client.cwd, dir), client.project)
  }
  const here = options.config ?? options.data ?? client.env.SERVICE_CONFIG ?? (existsSync('gameyard.yaml') || undefined)
  if (here !== undefined && options.url === undefined) {
    const { diagnoseServer } = await import('../doctor/server.ts')
    return diagnoseServer(await loadProgramConfig(options), version, options.mail)
  }
  const { credentials, env, project, baseUrl, userAgent } = client
  const { diagnose } = await import('../../clients/cli/doctor.ts')
  return diagnose({ credentials, env, url: options.url, project, baseUrl, userAgent })
}

import { type Command, InvalidArgumentError } from 'commander'
import type { Installation } from '../installation.ts'
import { type ConfigOptions, withConfigOptions } from '../options.ts'
import { takeSupervisorSettings } from '../processes/supervisor-settings.ts'

export function configure(command: Command, installation: Installation): void {
  withConfigOptions(command)
    .option('--lan [address]', 'for a jam in one room: on the address of this machine in its network, or on this one')
    .option('--https', "with --lan: https by this platform's own certificate authority")
    .option(
      '--processes <number>',
      'so many processes on this machine, or auto: one for each core (default: 1)',
      processCount,
    )
    .description(
      `Runs the platform until SIGTERM or Ctrl-C. A second signal stops it at once. With several processes SIGHUP
replaces them one after the other, also by a newer program at the same path, while the platform serves.`.replaceAll(
        '\n',
        ' ',
      ),
    )
    .addHelpText(
      'after',
      `
Examples:
  gameyard serve
  gameyard serve --lan                      a jam: everyone in the room joins by address or QR code
  gameyard serve --port 9000 --data /srv/games
  gameyard serve --processes auto           every core of this machine
  SERVICE_LOG__LEVEL=debug gameyard serve --config gameyard.yaml`,
    )
    .action(async (options: ConfigOptions) => {
      const settings = takeSupervisorSettings(process.env)
      if (settings) {
        const { runSupervisor } = await import('../processes/run-supervisor.ts')
        return runSupervisor(settings, installation)
      }
      const { startServer } = await import('../serve.ts')
      await startServer(options, installation)
    })
}

function processCount(text: string): number | 'auto' {
  if (text === 'auto') return text
  if (!/^\d{1,2}$/.test(text) || Number(text) < 1 || Number(text) > 64)
    throw new InvalidArgumentError('expected 1 to 64, or auto.')
  return Number(text)
}

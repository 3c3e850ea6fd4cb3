import type { Command } from 'commander'
import type { Installation } from '../installation.ts'
import { type ConfigOptions, withConfigOptions } from '../options.ts'

export function configure(command: Command, installation: Installation): void {
  withConfigOptions(command)
    .option('--lan [address]', 'for a jam in one room: on the address of this machine in its network, or on this one')
    .option('--https', "with --lan: https by this platform's own certificate authority")
    .description('Runs the platform until SIGTERM or Ctrl-C. A second signal stops it at once.')
    .addHelpText(
      'after',
      `
Examples:
  gameyard serve
  gameyard serve --lan                      a jam: everyone in the room joins by address or QR code
  gameyard serve --port 9000 --data /srv/games
  SERVICE_LOG__LEVEL=debug gameyard serve --config gameyard.yaml`,
    )
    .action(async (options: ConfigOptions) => {
      const { startServer } = await import('../serve.ts')
      await startServer(options, installation)
    })
}

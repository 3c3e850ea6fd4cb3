import type { Command } from 'commander'
import { positive } from '../client.ts'
import type { Installation } from '../installation.ts'
import { withFileOptions } from '../options.ts'
import type { WorkerOptions } from '../worker.ts'

export function configure(command: Command, installation: Installation): void {
  withFileOptions(command)
    .description(
      `Runs Blender jobs, and the platform's background work, until SIGTERM or Ctrl-C; serves no page. Takes the
configuration of the server: the same database and storage, and where those are shared by machines, the same secret.
Any number of workers may share one queue. A server whose configuration says blender.capacity: 0 leaves every job to
them; a worker takes one at once then, or as many as --capacity says.`.replaceAll('\n', ' '),
    )
    .option('-n, --capacity <jobs>', 'Blender jobs at once (default: blender.capacity, or 1 when that is 0)', positive)
    .addHelpText(
      'after',
      `
Examples:
  gameyard worker
  gameyard worker --config cluster.yaml --capacity 4
  SERVICE_BLENDER__DRIVER=docker SERVICE_BLENDER__IMAGE=blender:4 gameyard worker`,
    )
    .action(async (options: WorkerOptions) => {
      const { startWorker } = await import('../worker.ts')
      await startWorker(options, installation)
    })
}

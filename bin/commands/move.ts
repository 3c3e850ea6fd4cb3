import type { Command } from 'commander'
import { printResult, withJson } from '../json-output.ts'
import { type ConfigOptions, withFileOptions } from '../options.ts'

type Options = ConfigOptions & { to: string; json?: true }

export function configure(command: Command): void {
  withJson(withFileOptions(command))
    .description(
      'Copies everything of the configuration in force into the empty database and storage of another one: from SQLite to PostgreSQL, from a folder to a bucket, or back. The platform may serve meanwhile, and is not changed. At the end it accepts no changes for some seconds, and then none until the new one is started. Interrupted, the same command goes on where it stopped.',
    )
    .requiredOption('--to <file>', 'the configuration to move to')
    .addHelpText(
      'after',
      `
Examples:
  gameyard move --to cluster.yaml
  gameyard move --config cluster.yaml --to single.yaml`,
    )
    .action(run)
}

async function run(options: Options): Promise<void> {
  const { movePlatform, describeMove } = await import('../move.ts')
  const summary = await movePlatform(options, options.to)
  printResult(options, { to: options.to, ...summary }, () => describeMove(summary, options.to))
}

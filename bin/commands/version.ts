import type { Command } from 'commander'
import type { Installation } from '../installation.ts'
import { printResult, withJson } from '../json-output.ts'

export function configure(command: Command, installation: Installation): void {
  withJson(command)
    .description('Prints the version of Gameyard and of the Node that runs it.')
    .action((options: { json?: true }) => {
      const { version } = installation
      const node = process.versions.node
      const platform = `${process.platform}-${process.arch}`
      printResult(options, { version, node, platform }, () => `gameyard ${version} (Node ${node}, ${platform})`)
    })
}

import type { Command } from 'commander'
import type { Installation } from '../installation.ts'

export function configure(command: Command, installation: Installation): void {
  command
    .description('Prints the version of Gameyard and of the Node that runs it.')
    .option('--json', 'as JSON')
    .action(({ json }: { json?: true }) => {
      const { version } = installation
      const node = process.versions.node
      const platform = `${process.platform}-${process.arch}`
      console.log(
        json ? JSON.stringify({ version, node, platform }) : `gameyard ${version} (Node ${node}, ${platform})`,
      )
    })
}

import { type Command, Option } from 'commander'
import type { Installation } from '../installation.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

export function configure(command: Command, _installation: Installation, everything: () => Promise<Command>): void {
  command
    .description('Prints a script for the shell, which completes commands and options with the Tab key.')
    .argument('<shell>', SHELLS.join(', '))
    .addOption(new Option('--json', 'as JSON'))
    .addHelpText(
      'after',
      `
Examples:
  bash   echo 'source <(gameyard completion bash)' >> ~/.bashrc
  zsh    gameyard completion zsh > "\${fpath[1]}/_gameyard"
  fish   gameyard completion fish > ~/.config/fish/completions/gameyard.fish`,
    )
    .action(async (shell: string, { json }: { json?: true }) => {
      if (!SHELLS.includes(shell as Shell))
        command.error(`error: there is no completion for '${shell}'; there is ${SHELLS.join(', ')}`)
      const { completionFor } = await import('../completion.ts')
      const script = completionFor(shell as Shell, await everything())
      process.stdout.write(json ? `${JSON.stringify({ shell, script })}\n` : script)
    })
}

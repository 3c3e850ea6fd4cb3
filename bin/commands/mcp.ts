import type { Command } from 'commander'
import { type Client, type ClientOptions, runClient } from '../client.ts'
import type { Installation } from '../installation.ts'

export function configure(command: Command, installation: Installation): void {
  command
    .description(
      'Connects a coding assistant to a platform: serves the Model Context Protocol on standard input and output, ' +
        'with the sign-in of `gameyard login`. Assistants start it on their own; see the guide "Coding assistants".',
    )
    .option('--url <address>', 'the platform (default: $SERVICE_BASE_URL, gameyard.json, the last sign-in)')
    .addHelpText(
      'after',
      `
Examples:
  claude mcp add gameyard -- gameyard mcp
  gameyard mcp --url https://yard.example.org

The assistant may publish folders of the folder in which it starts the command.`,
    )
    .action((options: ClientOptions) => runClient(options, installation, serve))
}

async function serve({ api, cwd, stateFolder, signal, terminal }: Client): Promise<void> {
  const connection = await api()
  const [{ whoami }, { serveAssistant }] = await Promise.all([
    import('../../clients/cli/login.ts'),
    import('../../clients/cli/assistant/serve.ts'),
  ])
  // An invalid token is reported here, before the assistant waits for anything.
  const { user } = await whoami(connection)
  terminal.note(`Connected to ${connection.baseUrl} as ${user.name}.`)
  await serveAssistant(connection, { cwd, stateFolder, signal })
}

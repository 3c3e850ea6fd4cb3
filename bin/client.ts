import { type Command, InvalidArgumentError } from 'commander'
import type { Api } from '../clients/cli/api.ts'
import type { Credentials } from '../clients/cli/credentials.ts'
import type { FoundProject } from '../clients/cli/project.ts'
import type { Terminal } from '../clients/cli/terminal.ts'
import type { Installation } from './installation.ts'

/** The options of every client command. */
export interface ClientOptions {
  json?: true
  url?: string
}

/** Adds `--url` and `--json`. */
export const withClientOptions = (command: Command): Command =>
  command
    .option('--url <address>', 'the platform (default: $SERVICE_BASE_URL, gameyard.json, the last sign-in)')
    .option('--json', 'print JSON, and nothing else, on standard output')

/** The context of a client command. */
export interface Client {
  terminal: Terminal
  credentials: Credentials
  /**
   * The project for the folder that the command names; otherwise of the working directory or its nearest parent with a
   * project.
   */
  project(): Promise<FoundProject | null>
  /** The origin of the target platform. */
  baseUrl(): Promise<string>
  /** The API of the platform. @throws CliError when there is no token for it */
  api(): Promise<Api>
  env: NodeJS.ProcessEnv
  cwd: string
  /** The folder of state that the program can lose. */
  readonly stateFolder: string
  userAgent: string
  /** Aborts on Ctrl-C. */
  signal: AbortSignal
}

/**
 * Runs a client command to its end.
 *
 * @param folder the folder that the command names, if any
 * @throws CliError for a stop from the keyboard, and what `work` throws; error-report.ts reports it
 */
export async function runClient(
  { json = undefined, url, folder }: ClientOptions & { folder?: string | undefined },
  { version }: Installation,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const [{ Terminal }, { Credentials }, { configFolder, stateFolder }] = await Promise.all([
    import('../clients/cli/terminal.ts'),
    import('../clients/cli/credentials.ts'),
    import('../clients/cli/config-folder.ts'),
  ])
  const { env } = process
  const cwd = process.cwd()
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  process.once('SIGINT', onSignal)
  const terminal = new Terminal({ json: json === true })
  const credentials = new Credentials(configFolder(env))
  const userAgent = `gameyard/${version} (${process.platform}; Node ${process.versions.node})`

  let found: Promise<FoundProject | null> | undefined
  const project = () => {
    found ??= import('../clients/cli/project.ts').then(({ projectFor }) => projectFor(folder, cwd))
    return found
  }
  const surroundings = async () => ({ url, env, projectUrl: (await project())?.baseUrl })
  const client: Client = {
    terminal,
    credentials,
    project,
    env,
    cwd,
    userAgent,
    get stateFolder() {
      return stateFolder(env)
    },
    signal: stop.signal,
    async baseUrl() {
      const { chooseBaseUrl } = await import('../clients/cli/platform.ts')
      return chooseBaseUrl(await surroundings(), credentials)
    },
    async api() {
      const [{ choosePlatform }, { Api }] = await Promise.all([
        import('../clients/cli/platform.ts'),
        import('../clients/cli/api.ts'),
      ])
      const chosen = await choosePlatform(await surroundings(), credentials)
      const moved = async (from: string, to: string) => {
        const named = url !== undefined ? '--url' : env.SERVICE_BASE_URL ? 'SERVICE_BASE_URL' : null
        const where = named ?? ((await project())?.baseUrl === from ? 'baseUrl in gameyard.json' : null)
        terminal.note(
          `${from} has moved to ${to}. ${where ? `Change ${where}.` : 'Its sign-in is kept for that address.'}`,
        )
        if (chosen.tokenFrom === 'login') await credentials.follow(from, to)
      }
      return new Api({ ...chosen, userAgent, signal: stop.signal, moved })
    },
  }
  try {
    await work(client)
  } catch (error) {
    const { CliError } = await import('../clients/cli/errors.ts')
    if (!stop.signal.aborted || error instanceof CliError) throw error
    throw new CliError('Stopped.', { code: 'stopped', exitCode: 130, cause: error })
  } finally {
    process.off('SIGINT', onSignal)
  }
}

/** Collects the values of a repeatable option. */
export const collect = (value: string, values: string[] = []): string[] => [...values, value]

/** Parses a number of at least 1. @throws InvalidArgumentError */
export function positive(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('expected a number from 1.')
  return Number(text)
}

import { randomBytes } from 'node:crypto'
import { appendFile, readFile } from 'node:fs/promises'
import { CliError } from './errors.ts'
import type { CreatedGame } from './games.ts'

/** A file of environment variables, such as `.env`, that gets the settings of a game with a server of its own. */
export class EnvFile {
  readonly #path: string
  readonly #before: string

  private constructor(path: string, before: string) {
    this.#path = path
    this.#before = before
  }

  /** Reads a file, which may be absent. @throws CliError when it has such settings already */
  static async open(path: string): Promise<EnvFile> {
    const before = await readFile(path, 'utf8').catch((error) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    const [, name] = /^\s*(?:export\s+)?(SERVICE_(?:CLIENT|SESSION|REDIRECT|BASE)_\w+)\s*=/m.exec(before) ?? []
    if (name) throw new CliError(`${path} has ${name} already.`, { hint: 'Remove its line, or name another file.' })
    return new EnvFile(path, before)
  }

  /** Appends the settings that the server adapter reads. Only the owner can read a file that this makes. */
  async append({ oauth }: CreatedGame, baseUrl: string): Promise<void> {
    const settings = {
      SERVICE_BASE_URL: baseUrl,
      SERVICE_CLIENT_ID: oauth.clientId,
      SERVICE_CLIENT_SECRET: oauth.clientSecret,
      SERVICE_REDIRECT_URI: oauth.redirectUri,
      SERVICE_SESSION_SECRET: randomBytes(48).toString('base64url'),
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
    const gap = this.#before === '' || this.#before.endsWith('\n') ? '' : '\n'
    await appendFile(this.#path, gap + lines.join(''), { mode: 0o600 })
  }
}

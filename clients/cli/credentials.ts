import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writePrivately } from './config-folder.ts'
import { CliError, fileReason } from './errors.ts'
import { withoutBom } from './json-input.ts'

/** A stored sign-in of this machine. */
export interface Account {
  token: string
  user: { id: string; name: string; email?: string }
  /** The token's name in the platform's settings. */
  label: string
  savedAt: string
}

interface CredentialsFile {
  /** The platform of the last sign-in, which is the default. */
  current: string | null
  platforms: Record<string, Account>
}

/** Stores this user's sign-ins on this machine, one per platform, in a file that only the user can read. */
export class Credentials {
  readonly #folder: string | null

  /** @param folder the program's configuration folder; null for a user without a home, who has no sign-ins */
  constructor(folder: string | null) {
    this.#folder = folder
  }

  /** The path of the file. @throws CliError for a user without a home */
  get file(): string {
    if (this.#folder === null)
      throw new CliError('Sign-ins cannot be kept, since this user has no home folder.', {
        code: 'credentials',
        hint: 'Set HOME or XDG_CONFIG_HOME to a folder that this user may write to, or use SERVICE_API_TOKEN.',
      })
    return join(this.#folder, 'credentials.json')
  }

  async read(): Promise<CredentialsFile> {
    if (this.#folder === null) return { current: null, platforms: {} }
    const text = await readFile(this.file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw new CliError(`Your sign-ins can't be read: ${this.file} (${fileReason(error)}).`, {
        code: 'credentials',
        hint: 'Make the file readable for you, or use SERVICE_API_TOKEN instead.',
      })
    })
    if (text === null) return { current: null, platforms: {} }
    try {
      const { current, platforms } = JSON.parse(withoutBom(text))
      if (typeof platforms !== 'object' || platforms === null) throw new Error('no platforms')
      return { current: current ?? null, platforms }
    } catch {
      throw new CliError(`${this.file} is damaged.`, {
        code: 'credentials',
        hint: 'Remove it and sign in again: gameyard login',
      })
    }
  }

  async save(baseUrl: string, account: Account): Promise<void> {
    const { platforms } = await this.read()
    await this.#write({ current: baseUrl, platforms: { ...platforms, [baseUrl]: account } })
  }

  /** Moves a sign-in to the platform's new address. Configurations with the old address continue to work. */
  async follow(from: string, to: string): Promise<void> {
    const { current, platforms } = await this.read()
    const account = platforms[from]
    if (!account) return
    const known = { ...platforms, [to]: platforms[to] ?? account }
    await this.#write({ current: current === from ? to : current, platforms: known })
  }

  async remove(baseUrl: string): Promise<void> {
    const { current, platforms } = await this.read()
    delete platforms[baseUrl]
    const next = current === baseUrl ? (Object.keys(platforms)[0] ?? null) : current
    if (next === null) {
      await rm(this.file, { force: true }).catch((error) => {
        throw this.#unwritable(error)
      })
    } else await this.#write({ current: next, platforms })
  }

  /** Checks that a token can be stored, before one is created. @throws CliError */
  async mustBeWritable(): Promise<void> {
    const probe = `${this.file}.probe`
    const enough = `${JSON.stringify(await this.read())}${' '.repeat(4096)}`
    await writePrivately(probe, enough).catch((error) => {
      throw this.#unwritable(error)
    })
    await rm(probe, { force: true })
  }

  async #write(content: CredentialsFile): Promise<void> {
    await writePrivately(this.file, `${JSON.stringify(content, null, 2)}\n`).catch((error) => {
      throw this.#unwritable(error)
    })
  }

  #unwritable(error: unknown): CliError {
    return new CliError(`Your sign-in can't be kept in ${this.file}: ${fileReason(error)}.`, {
      code: 'credentials',
      hint: 'Nothing was changed. Make the folder writable, name another by XDG_CONFIG_HOME, or use SERVICE_API_TOKEN.',
      cause: error,
    })
  }
}

import { access, constants, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Api } from './api.ts'
import type { Credentials } from './credentials.ts'
import { CliError, fileReason } from './errors.ts'
import { send, textOf, unreachable } from './http.ts'
import { whoami } from './login.ts'
import { type BaseUrlSources, choosePlatform } from './platform.ts'
import type { FoundProject } from './project.ts'

/** The result of one check. */
export interface Check {
  name: string
  status: 'ok' | 'warning' | 'failed'
  message: string
  hint?: string
  /** Further lines, such as the conversation with a server. */
  details?: string[]
}

export interface DoctorOptions {
  credentials: Credentials
  env: NodeJS.ProcessEnv
  url: string | undefined
  project: () => Promise<FoundProject | null>
  baseUrl: () => Promise<string>
  userAgent: string
}

/** A clock error of this size breaks sign-ins and signed URLs, in milliseconds. */
const CLOCK_OFF_MS = 60_000

/** Checks everything that a client command requires, in the order in which the command requires it. */
export async function* diagnose(options: DoctorOptions): AsyncGenerator<Check> {
  const { credentials, env, url, userAgent } = options
  const sources = [
    await settings(credentials),
    await attempt('gameyard.json', async () => projectCheck(await options.project())),
  ]
  yield* sources
  const chosen = await attempt('Connection', async () => ok('Connection', await options.baseUrl()))
  if (chosen.status === 'failed') {
    // A file that can't be read has been named already.
    if (!sources.some(({ status, message }) => status === 'failed' && message === chosen.message)) yield chosen
    return
  }
  const baseUrl = chosen.message
  const answer = await reach(baseUrl, userAgent)
  yield answer.check
  if (answer.date !== null) yield clock(answer.date)
  if (answer.check.status === 'failed') return
  yield await attempt('Platform', () => readiness(baseUrl, userAgent))
  const projectUrl = (await options.project().catch(() => null))?.baseUrl
  const surroundings: BaseUrlSources = { url, env, projectUrl }
  yield await attempt('Token', async () => {
    const chosen = await choosePlatform(surroundings, credentials)
    const { user, tokenLabel } = await whoami(new Api({ ...chosen, userAgent }))
    const from = chosen.tokenFrom === 'environment' ? 'SERVICE_API_TOKEN' : 'your sign-in'
    return ok('Token', `${user.name}, by ${from} ("${tokenLabel}")`)
  })
}

const ok = (name: string, message: string): Check => ({ name, status: 'ok', message })

/** Runs a check, and turns an error into its result. */
async function attempt(name: string, look: () => Promise<Check>): Promise<Check> {
  try {
    return await look()
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return { name, status: 'failed', message: error.message, ...(error.hint ? { hint: error.hint } : {}) }
  }
}

async function settings(credentials: Credentials): Promise<Check> {
  const name = 'Settings'
  return attempt(name, async () => {
    await credentials.mustBeWritable()
    const { platforms } = await credentials.read()
    const mode = (await stat(credentials.file).catch(() => null))?.mode ?? 0
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      return {
        name,
        status: 'warning',
        message: `${credentials.file} can be read by others on this machine`,
        hint: `chmod 600 ${credentials.file}`,
      }
    }
    const count = Object.keys(platforms).length
    return ok(name, `${credentials.file} (${count === 1 ? 'one sign-in' : `${count} sign-ins`})`)
  })
}

async function projectCheck(project: FoundProject | null): Promise<Check> {
  const name = 'gameyard.json'
  if (!project) return ok(name, 'none here; commands take --game')
  const index = join(project.buildFolder, 'index.html')
  const trouble = await access(index, constants.R_OK).then(() => null, fileReason)
  const game = project.gameId ?? 'no game yet (gameyard deploy --create makes it)'
  if (trouble === null) return ok(name, `${game}, built into ${project.buildFolder}`)
  return {
    name,
    status: 'warning',
    message: `${index}: ${trouble}`,
    hint: 'Build the game first, or correct "folder" in gameyard.json.',
  }
}

async function reach(baseUrl: string, userAgent: string): Promise<{ check: Check; date: string | null }> {
  const name = 'Connection'
  const started = performance.now()
  try {
    const answer = await send({
      method: 'GET',
      url: `${baseUrl}/healthz`,
      headers: { 'user-agent': userAgent },
      idleMs: 10_000,
    })
    const body = bodyOf(await textOf(answer))
    const took = Math.round(performance.now() - started)
    const date = typeof answer.headers.date === 'string' ? answer.headers.date : null
    if (answer.status === 200 && body.status === 'ok') {
      return { check: ok(name, `${baseUrl} answers in ${took} ms`), date }
    }
    return { check: foreign(name, baseUrl, answer.status), date }
  } catch (error) {
    const { message, hint } = unreachable(baseUrl, error as Parameters<typeof unreachable>[1])
    return { check: { name, status: 'failed', message, ...(hint ? { hint } : {}) }, date: null }
  }
}

const foreign = (name: string, baseUrl: string, status: number): Check => ({
  name,
  status: 'failed',
  message: `${baseUrl} answers with ${status}, and not as a Gameyard platform does`,
  hint: 'Check the address: --url or SERVICE_BASE_URL.',
})

/** Returns the fields of a JSON answer; none for any other. */
function bodyOf(text: string): { status?: unknown; checks?: unknown } {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

function clock(date: string): Check {
  const off = Date.now() - Date.parse(date)
  if (Math.abs(off) < CLOCK_OFF_MS) return ok('Clock', 'agrees with the platform')
  return {
    name: 'Clock',
    status: 'warning',
    message: `this machine is ${Math.round(Math.abs(off) / 1000)} s ${off > 0 ? 'ahead of' : 'behind'} the platform`,
    hint: 'Let the system set its clock from the network: sign-ins and uploads depend on it.',
  }
}

async function readiness(baseUrl: string, userAgent: string): Promise<Check> {
  const answer = await send({
    method: 'GET',
    url: `${baseUrl}/readyz`,
    headers: { 'user-agent': userAgent },
    idleMs: 10_000,
  }).catch((error) => {
    throw unreachable(baseUrl, error)
  })
  const { checks } = bodyOf(await textOf(answer))
  if (typeof checks !== 'object' || checks === null) return foreign('Platform', baseUrl, answer.status)
  if (answer.status === 200) return ok('Platform', 'its database and storage answer')
  return {
    name: 'Platform',
    status: 'failed',
    message: 'its database or storage does not answer',
    hint: `Its administrator finds more at ${baseUrl}/readyz and in the log.`,
  }
}

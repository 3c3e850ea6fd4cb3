import type { Credentials } from './credentials.ts'
import { CliError, usageError } from './errors.ts'
import { ConnectionError, send } from './http.ts'

/** The default address, which is that of a platform on this machine with default settings. */
export const DEFAULT_BASE_URL = 'http://localhost:8080'

export interface BaseUrlSources {
  /** The value of `--url`. */
  url?: string | undefined
  env: NodeJS.ProcessEnv
  /** The address in gameyard.json. */
  projectUrl?: string | undefined
}

/** Parses the origin that a user typed: `localhost:8080`, `yard.example.org`, `https://yard.example.org/`. */
export function originOf(text: string, from: string): string {
  const trimmed = text.trim()
  const local =
    /^(localhost|[^/:]*\.localhost|127\.|\[::1\]|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|169\.254\.|[^/:]*\.local(:|\/|$))/.test(
      trimmed,
    )
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `${local ? 'http' : 'https'}://${trimmed}`
  const url = URL.canParse(whole) ? new URL(whole) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '' || url.username) {
    throw usageError(`${from} is no address of a platform: ${text}`, 'It looks like https://yard.example.org')
  }
  if (url.pathname !== '/' || url.search || url.hash) {
    throw usageError(`${from} has a path, and a platform has none: ${text}`, `Did you mean ${url.origin} ?`)
  }
  return url.origin
}

/**
 * Chooses the platform from the flag, the environment, gameyard.json, the last sign-in, or the default in this order.
 */
export async function chooseBaseUrl(
  { url, env, projectUrl }: BaseUrlSources,
  credentials: Credentials,
): Promise<string> {
  if (url !== undefined) return originOf(url, '--url')
  if (env.SERVICE_BASE_URL) return originOf(env.SERVICE_BASE_URL, 'SERVICE_BASE_URL')
  if (projectUrl) return projectUrl
  return (await credentials.read()).current ?? DEFAULT_BASE_URL
}

/**
 * Resolves the canonical address of a platform: another name for it, such as `gameyard.local` on a LAN, and a former
 * address redirect there. The request carries no token, since a token goes to the canonical address only. A redirect
 * from https to http is not followed.
 *
 * @returns `baseUrl` when there is no redirect, or no response: the next request reports that more precisely
 */
export async function homeOf(baseUrl: string, userAgent: string): Promise<string> {
  const path = '/.well-known/oauth-authorization-server'
  try {
    const headers = { 'user-agent': userAgent }
    const { status, headers: answer, body } = await send({ method: 'GET', url: baseUrl + path, headers })
    body.resume()
    const url =
      (status === 302 || status === 308) && URL.canParse(answer.location ?? '') ? new URL(answer.location ?? '') : null
    if (url?.pathname !== path || (baseUrl.startsWith('https:') && url.protocol !== 'https:')) return baseUrl
    return url.origin
  } catch (error) {
    if (error instanceof ConnectionError) return baseUrl
    throw error
  }
}

export interface Chosen {
  baseUrl: string
  token: string
  tokenFrom: 'environment' | 'login'
}

/**
 * Chooses the platform and its token.
 *
 * @throws CliError when there is no token, or when gameyard.json, which may be untrusted, would have the token of the
 *   environment sent to a platform that the environment does not name
 */
export async function choosePlatform(surroundings: BaseUrlSources, credentials: Credentials): Promise<Chosen> {
  const { url, env, projectUrl } = surroundings
  const baseUrl = await chooseBaseUrl(surroundings, credentials)
  const token = env.SERVICE_API_TOKEN?.trim()
  if (token) {
    checkForm(token)
    if (projectUrl && url === undefined && !env.SERVICE_BASE_URL) {
      throw new CliError(`gameyard.json names ${projectUrl}, but is SERVICE_API_TOKEN meant for it?`, {
        code: 'ambiguous_platform',
        hint: `A token only goes where you say: SERVICE_BASE_URL=${projectUrl} or --url ${projectUrl}`,
      })
    }
    return { baseUrl, token, tokenFrom: 'environment' }
  }
  const { platforms } = await credentials.read()
  const account = platforms[baseUrl]
  if (!account) {
    const others = Object.keys(platforms)
    throw new CliError(`You are not signed in to ${baseUrl}.`, {
      code: 'not_signed_in',
      hint: `Sign in: gameyard login${baseUrl === DEFAULT_BASE_URL ? '' : ` --url ${baseUrl}`}, or set SERVICE_API_TOKEN.${
        others.length > 0 ? ` You are signed in to ${others.join(', ')}.` : ''
      }`,
    })
  }
  return { baseUrl, token: account.token, tokenFrom: 'login' }
}

/** Detects an incorrectly copied token before any request. */
export function checkForm(token: string): void {
  if (/^svc_(api|cli)_[A-Za-z0-9]{38}$/.test(token)) return
  throw new CliError('That is no token of a Gameyard platform.', {
    code: 'bad_token',
    hint: 'One begins with svc_api_ or svc_cli_ and has 38 letters and digits after it. Was all of it copied?',
  })
}

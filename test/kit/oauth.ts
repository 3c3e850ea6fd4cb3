import { createHash } from 'node:crypto'
import type { Answer, Client, Platform, PlayerClient } from './platform.ts'

export const REDIRECT_URI = 'https://game.example/auth/callback'

/** An OAuth application from its server's point of view. */
export interface TestApp {
  id: string
  clientId: string
  clientSecret: string
}

/** Registers an application for a player. */
export async function registerApp(
  platform: Platform,
  owner: PlayerClient,
  fields: Record<string, unknown> = {},
): Promise<TestApp> {
  const program = await platform.program(owner, ['oauth:write'])
  const { status, body } = await program.post('/api/oauth/apps', {
    name: 'Rooftop Relay',
    redirectUris: [REDIRECT_URI],
    ...fields,
  })
  if (status !== 201) throw new Error(`The application was answered with ${status}: ${JSON.stringify(body)}`)
  return body
}

/**
 * Returns the URL of an authorization request. In `changes`, `undefined` omits a parameter, and a list sends it twice.
 */
export function authorizeUrl(app: TestApp, changes: Record<string, string | string[] | undefined> = {}): string {
  const parameters = {
    response_type: 'code',
    client_id: app.clientId,
    redirect_uri: REDIRECT_URI,
    scope: 'profile email',
    state: 'a state',
    ...changes,
  }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of [value ?? []].flat()) query.append(name, one)
  }
  return `/oauth/authorize?${query}`
}

/** Returns the parameters of a redirect to the client; null when the response does not redirect there. */
export function redirectParameters(answer: Answer, redirectUri = REDIRECT_URI): Record<string, string> | null {
  const { location } = answer.headers
  if (answer.status !== 303 || !location?.startsWith(`${redirectUri}?`)) return null
  return Object.fromEntries(new URL(location).searchParams)
}

/** Submits a decision on the consent page. */
export const decide = (player: Client, url: string, decision: 'allow' | 'deny'): Promise<Answer> =>
  player.submit('/oauth/consent', { request: url.slice(url.indexOf('?') + 1), decision })

/** Obtains a code with the player's consent. */
export async function obtainCode(
  player: Client,
  app: TestApp,
  changes: Record<string, string | string[] | undefined> = {},
): Promise<string> {
  const code = redirectParameters(
    await decide(player, authorizeUrl(app, changes), 'allow'),
    (changes.redirect_uri as string) ?? REDIRECT_URI,
  )?.code
  if (!code) throw new Error('There came no code.')
  return code
}

/** Redeems a code at the token endpoint, with the secret in the form. `changes` are as for `authorizeUrl`. */
export function exchange(
  client: Client,
  app: TestApp,
  code: string,
  changes: Record<string, string | string[] | undefined> = {},
  headers: Record<string, string | undefined> = {},
): Promise<Answer> {
  const form = {
    grant_type: 'authorization_code',
    client_id: app.clientId,
    client_secret: app.clientSecret,
    code,
    redirect_uri: REDIRECT_URI,
    ...changes,
  }
  const sent = Object.entries(form).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  return client.submit('/api/oauth/token', Object.fromEntries(sent), { headers: { origin: undefined, ...headers } })
}

export const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`

/** A PKCE pair (RFC 7636). */
export function pkce(verifier = 'v'.repeat(43)) {
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  return { verifier, challenge: { code_challenge: challenge, code_challenge_method: 'S256' } }
}

/** Calls an endpoint for applications, with the secret in the form. `changes` are as for `authorizeUrl`. */
export function callEndpoint(
  client: Client,
  app: Pick<TestApp, 'clientId'> & { clientSecret?: string | null },
  endpoint: 'token' | 'revoke' | 'introspect' | 'device_authorization',
  parameters: Record<string, string | string[] | undefined> = {},
): Promise<Answer> {
  const form = { client_id: app.clientId, client_secret: app.clientSecret ?? undefined, ...parameters }
  const sent = Object.entries(form).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  return client.submit(`/api/oauth/${endpoint}`, Object.fromEntries(sent), { headers: { origin: undefined } })
}

/** Returns all tokens for a code of these scopes. */
export async function obtainTokens(player: Client, stranger: Client, app: TestApp, scope: string) {
  const { status, body } = await exchange(stranger, app, await obtainCode(player, app, { scope }))
  if (status !== 200) throw new Error(`The code was answered with ${status}: ${JSON.stringify(body)}`)
  return body as { access_token: string; refresh_token: string; id_token: string; scope: string }
}

import { PASSWORD } from './platform.ts'

let people = 0

/** Signs up a player at a server in a separate process. @returns the headers of the player's browser */
export async function signUpAt(portal: string, name = `Player ${++people}`): Promise<Record<string, string>> {
  const headers = { origin: portal, 'content-type': 'application/json' }
  const account = { email: `${name.toLowerCase().replaceAll(' ', '')}@example.org`, password: PASSWORD, name }
  const answer = await fetch(`${portal}/api/auth/sign-up`, { method: 'POST', headers, body: JSON.stringify(account) })
  if (!answer.ok) throw new Error(await answer.text())
  const cookies = answer.headers.getSetCookie().map((line) => line.split(';')[0])
  return { ...headers, cookie: cookies.join('; ') }
}

/** Signs up a player at a server in a separate process, and creates a token for the player. */
export async function makeToken(portal: string, scopes: string[]): Promise<string> {
  const headers = await signUpAt(portal)
  const body = JSON.stringify({ label: 'test', scopes, expiresInDays: null })
  const made = await fetch(`${portal}/api/tokens`, { method: 'POST', headers, body })
  if (!made.ok) throw new Error(await made.text())
  return ((await made.json()) as { token: string }).token
}

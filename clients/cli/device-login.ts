import { setTimeout as wait } from 'node:timers/promises'
import { problemIn } from './api.ts'
import { CliError } from './errors.ts'
import { ConnectionError, send, textOf, unreachable } from './http.ts'

const CLIENT_ID = 'gameyard-cli'
const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** The data that a person needs to approve the sign-in. */
export interface Invitation {
  userCode: string
  /** The page on which to enter the code. */
  page: string
  /** The same page with the code in its address, to open in a browser of this machine. */
  pageWithCode: string
  expiresInSeconds: number
}

export interface DeviceLogin {
  baseUrl: string
  label: string
  machine: string
  userAgent: string
  signal?: AbortSignal
  /** Called once, when the sign-in can be approved. */
  invite(invitation: Invitation): void
}

/**
 * Signs in with approval in a browser (RFC 8628).
 *
 * @returns a CLI token of full access
 * @throws CliError when the request is denied or expires, or the platform can't be reached
 */
export async function deviceLogin({
  baseUrl,
  label,
  machine,
  userAgent,
  signal,
  invite,
}: DeviceLogin): Promise<string> {
  const post = (path: string, form: Record<string, string>) => postForm(baseUrl, path, form, { userAgent, signal })
  const begun = await post('/api/oauth/device_authorization', { client_id: CLIENT_ID, label, machine })
  if (begun.problem) throw refusal(baseUrl, begun.problem)
  const { device_code, user_code, verification_uri, verification_uri_complete, expires_in, interval } = begun.body
  invite({
    userCode: user_code,
    page: verification_uri,
    pageWithCode: verification_uri_complete ?? verification_uri,
    expiresInSeconds: expires_in,
  })
  const deadline = Date.now() + expires_in * 1000
  let seconds: number = interval ?? 5
  while (Date.now() < deadline) {
    await wait(seconds * 1000, undefined, { signal })
    let answer: FormAnswer
    try {
      answer = await post('/api/oauth/token', { grant_type: GRANT, client_id: CLIENT_ID, device_code })
    } catch (error) {
      // After a connection failure the client polls again at a longer interval (RFC 8628, section 3.5).
      if (!(error instanceof CliError && error.code === 'unreachable')) throw error
      seconds = Math.min(seconds * 2, 60)
      continue
    }
    if (!answer.problem) return answer.body.access_token
    if (answer.problem.code === 'slow_down') seconds += 5
    else if (answer.problem.code !== 'authorization_pending') throw refusal(baseUrl, answer.problem)
  }
  throw refusal(baseUrl, { code: 'expired_token', message: '' })
}

interface FormAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: the fields are RFC 8628's
  body: any
  problem: { code: string; message: string } | null
}

async function postForm(
  baseUrl: string,
  path: string,
  form: Record<string, string>,
  { userAgent, signal }: { userAgent: string; signal: AbortSignal | undefined },
): Promise<FormAnswer> {
  try {
    const answer = await send({
      method: 'POST',
      url: `${baseUrl}${path}`,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'user-agent': userAgent,
        accept: 'application/json',
      },
      body: new URLSearchParams(form).toString(),
      signal,
    })
    const text = await textOf(answer)
    if (answer.status === 200) return { body: JSON.parse(text), problem: null }
    const problem = problemIn(text)
    if (problem) return { body: null, problem }
  } catch (error) {
    if (error instanceof ConnectionError) throw unreachable(baseUrl, error)
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new CliError(`${baseUrl} does not answer as a Gameyard platform does.`, {
    code: 'unexpected_answer',
    hint: 'Check the address: gameyard login --url https://yard.example.org',
  })
}

function refusal(baseUrl: string, { code, message }: { code: string; message: string }): CliError {
  const again = 'Begin again: gameyard login'
  if (code === 'access_denied') return new CliError('The sign-in was denied in the browser.', { code, hint: again })
  if (code === 'expired_token') return new CliError('Nobody approved the sign-in in time.', { code, hint: again })
  if (code === 'invalid_client') {
    return new CliError(`${baseUrl} does not let command lines sign in.`, {
      code,
      hint: `Create a token at ${baseUrl}/settings/tokens instead: gameyard login --with-token`,
    })
  }
  return new CliError(`${baseUrl} refused the sign-in: ${message}`, { code, hint: again })
}

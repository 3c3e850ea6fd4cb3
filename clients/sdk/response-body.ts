import { ApiError, ConnectionError } from './errors.ts'

interface BodyRules {
  /** The longest silence in ms. */
  silenceMs: number
  /** Ends the request. */
  stop(): void
  /** Translates a failure of the connection. */
  failure(cause: unknown): unknown
  /** Called once, when nothing more is read. */
  ended(): void
}

/**
 * Returns the response with a body that does not stall, and that fails with the errors of this package. The time counts
 * while the reader waits.
 */
export function limitBody(response: Response, { silenceMs, stop, failure, ended }: BodyRules): Response {
  // Chromium has a body for 204 too, but accepts none in a new response.
  const reader = response.status === 204 ? undefined : response.body?.getReader()
  if (!reader) {
    ended()
    return response
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const timer = setTimeout(stop, silenceMs)
        try {
          const { done, value } = await reader.read()
          if (!done) return controller.enqueue(value)
          controller.close()
        } catch (cause) {
          controller.error(failure(cause))
        } finally {
          clearTimeout(timer)
        }
        ended()
      },
      cancel(reason) {
        ended()
        return reader.cancel(reason)
      },
    },
    // Nothing is read ahead, so that a body that nobody reads has no timer.
    { highWaterMark: 0 },
  )
  return Object.defineProperty(new Response(body, response), 'url', { value: response.url })
}

/** Reads a body as text. @throws ConnectionError, or the signal's reason */
async function readText({ body }: Response): Promise<string> {
  // `Response.text()` would replace the error in some browsers.
  const decoder = new TextDecoder()
  const reader = body?.getReader()
  let text = ''
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read())
    text += decoder.decode(next.value, { stream: true })
  return text + decoder.decode()
}

/**
 * Reads a body as JSON; undefined when there is none.
 *
 * @throws ConnectionError when it is cut, ApiError when something else than a platform answers
 */
export async function readJson(response: Response): Promise<unknown> {
  const text = await readText(response)
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    if (!/\bjson\b/.test(typeOf(response))) throw unexpected(response)
    throw new ConnectionError('network', 'The response was cut before its end.', { cause })
  }
}

/** Returns the response of a download, unless it is a page. @throws ApiError */
export async function asFile(response: Response): Promise<Response> {
  if (typeOf(response).startsWith('text/html')) throw unexpected(response)
  return response
}

/** Creates the error for a 2xx response that no platform gives, such as the sign-in page of a network, and ends it. */
export function unexpected(response: Response): ApiError {
  response.body?.cancel().catch(() => {})
  const type = typeOf(response).split(';')[0] || 'no content type'
  const message = `The answer (${response.status}, ${type}) is not from a Gameyard platform. Check baseUrl and proxies.`
  return new ApiError(response.status, 'unexpected_answer', message, { reason: null, requestId: null, details: [] })
}

const typeOf = ({ headers }: Response): string => headers.get('content-type')?.toLowerCase() ?? ''

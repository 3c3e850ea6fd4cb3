import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { Readable } from 'node:stream'

/** Statuses without a body; the `Response` constructor rejects a body for them. */
const BODILESS: ReadonlySet<number> = new Set([204, 205])

/**
 * A `fetch` for one provider, reduced to what the SDKs need: it sends text, and streams any response. It never requests
 * another origin, which a redirect or an address in a response might name: the API key would go there, or an address
 * inside this network would be requested.
 *
 * It uses Node's HTTP client, since the global `fetch` takes as much time for a request as everything else here
 * (bench/ai.ts).
 */
export function fetchFrom(baseUrl: string): typeof fetch {
  const { origin, protocol } = new URL(baseUrl)
  const open = protocol === 'https:' ? requestHttps : requestHttp
  return async (input, { method = 'GET', headers, body, signal } = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    // Some servers return an image in its address. Nothing is requested then.
    if (url.protocol === 'data:') return fetch(url)
    if (url.origin !== origin) throw new Error('The provider referred to another server.')
    if (body != null && typeof body !== 'string') throw new Error('A provider is sent text only.')
    signal?.throwIfAborted()
    const options = {
      method,
      // Without the header the server could choose any content coding, and this client decodes none.
      headers: { 'accept-encoding': 'identity', ...fieldsOf(headers) },
      ...(signal ? { signal } : {}),
    }
    return new Promise((done, fail) => {
      /** @param agent `false` opens a connection of its own */
      const ask = (agent?: false) => {
        const asked = open(url, { ...options, ...(agent === undefined ? {} : { agent }) }, (answer) => {
          try {
            done(responseOf(answer))
          } catch (error) {
            answer.destroy()
            fail(error)
          }
        })
        asked.on('error', (error: NodeJS.ErrnoException) => {
          // The server closed an idle connection while this request was on its way (RFC 9112, section 9.3.1).
          if (asked.reusedSocket && CLOSED.has(error.code ?? '') && !signal?.aborted) ask(false)
          else fail(error)
        })
        asked.end(body ?? undefined)
      }
      ask()
    })
  }
}

/** The errors of a connection that the other side has closed. */
const CLOSED: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])

function responseOf(answer: IncomingMessage): Response {
  const { statusCode: status = 0, headers } = answer
  if (status >= 300 && status < 400) throw new Error('The provider referred to another address.')
  const named = Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string])
  if (!BODILESS.has(status)) return new Response(Readable.toWeb(answer) as ReadableStream, { status, headers: named })
  answer.resume()
  return new Response(null, { status, headers: named })
}

/** Converts headers of the forms that the SDKs use. */
const fieldsOf = (headers: HeadersInit = {}): Record<string, string> =>
  headers instanceof Headers || Array.isArray(headers) ? Object.fromEntries(new Headers(headers)) : headers

import { once } from 'node:events'
import { request } from 'node:http'
import type { Test } from 'tap'
import WebSocket from 'ws'

/** A page's part in what the client of rooms does: a browser adds the page's host, origin and cookies. */
interface Page {
  port: number
  headers: Record<string, string>
}

const pages = new Map<string, Page>()

class PageSocket extends WebSocket {
  constructor(address: string) {
    const { pathname, search, hostname } = new URL(address)
    const { port, headers } = pages.get(hostname) as Page
    super(`ws://127.0.0.1:${port}${pathname}${search}`, { headers })
    // ws throws an error that nobody listens to. The client learns by the close, as in a browser.
    this.on('error', () => {})
  }
}

/** Sends a request as a page does. Node's `fetch` would send its own Host. */
async function get({ port, headers }: Page, path: string): Promise<Response> {
  const sent = request({ host: '127.0.0.1', port, path, headers }).end()
  const [response] = await once(sent, 'response')
  return new Response(Buffer.concat(await response.toArray()), { status: response.statusCode })
}

/**
 * Lets the client of rooms run here as in pages of a game, over real sockets. Each player has a page.
 *
 * @returns a function that opens a page, and returns its `origin` for `join`
 */
export function openPages(t: Test, port: number): (headers: Record<string, string>) => string {
  const { WebSocket: before, fetch } = globalThis
  Object.assign(globalThis, {
    WebSocket: PageSocket,
    fetch: (url: URL | string, options?: RequestInit) => {
      const { hostname, pathname, search } = new URL(url)
      const page = pages.get(hostname)
      return page ? get(page, pathname + search) : fetch(url, options)
    },
  })
  t.teardown(() => {
    Object.assign(globalThis, { WebSocket: before, fetch })
    pages.clear()
  })
  return (headers) => {
    const name = `page${pages.size}`
    pages.set(name, { port, headers })
    return `http://${name}`
  }
}

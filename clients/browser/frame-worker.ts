/**
 * Service worker for the files of a private game, in a frame whose browser keeps no cookie there. It adds the frame's
 * token to requests for these files, which scripts alone cannot do. The page registers it (frame/private-files.ts).
 * Without a token it passes every request on unchanged. It stores nothing: after a restart the worker asks the page
 * again.
 */

/** The part of `ServiceWorkerGlobalScope` that this file uses. Its types conflict with those of pages. */
interface WorkerScope {
  addEventListener(type: string, listener: (event: WorkerEvent) => void): void
  skipWaiting(): Promise<void>
  clients: {
    claim(): Promise<void>
    get(id: string): Promise<{ postMessage(message: object, ports: MessagePort[]): void }>
  }
  location: Location
}

interface WorkerEvent {
  waitUntil(work: Promise<unknown>): void
  respondWith(answer: Promise<Response>): void
  request: Request
  clientId: string
  data: { type?: unknown; token?: unknown } | null
  ports: readonly MessagePort[]
}

const scope = globalThis as unknown as WorkerScope
const ANSWER_MS = 1000
/** Matches the platform's paths; the page itself sends the token there. */
const OURS = /^\/(?:auth\/service\/|mp(?:\/|$)|__service\/)/
/** Request headers that affect the response. The browser adds its own. */
const PASSED_ON = ['accept', 'range', 'if-range']

let token: string | null = null

scope.addEventListener('install', (event) => event.waitUntil(scope.skipWaiting()))
scope.addEventListener('activate', (event) => event.waitUntil(scope.clients.claim()))
scope.addEventListener('message', ({ data, ports }) => {
  if (data?.type !== 'service:frame-token') return
  token = typeof data.token === 'string' ? data.token : null
  ports[0]?.postMessage(null)
})
scope.addEventListener('fetch', (event) => {
  const { request, clientId } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== scope.location.origin || OURS.test(pathname)) return
  event.respondWith(answer(request, clientId))
})

async function answer(request: Request, clientId: string): Promise<Response> {
  token ??= await tokenOf(clientId)
  if (token === null) return fetch(request)
  const headers = new Headers({ authorization: `Service ${token}` })
  for (const name of PASSED_ON) {
    const value = request.headers.get(name)
    if (value !== null) headers.set(name, value)
  }
  // This builds a new request: requests of elements accept no such header, and those of frames accept no change.
  const { cache, signal } = request
  return fetch(request.url, {
    headers,
    redirect: 'manual',
    mode: 'same-origin',
    cache: cache === 'only-if-cached' ? 'default' : cache,
    signal,
  })
}

async function tokenOf(clientId: string): Promise<string | null> {
  const client = clientId === '' ? undefined : await scope.clients.get(clientId)
  if (!client) return null
  const { port1, port2 } = new MessageChannel()
  return new Promise((resolve) => {
    setTimeout(resolve, ANSWER_MS, null)
    port1.onmessage = ({ data }) => resolve(typeof data === 'string' ? data : null)
    client.postMessage({ type: 'service:frame-token' }, [port2])
  })
}

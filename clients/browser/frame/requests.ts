import { DeferredWebSocket } from './deferred-websocket.ts'
import type { FrameSession } from './hook.ts'

/** Matches the platform's paths on a game's origin. */
const OURS = /^\/(?:auth\/service\/|mp(?:\/|$)|__service\/)/
const LOGOUT = '/auth/service/logout'

/** Returns the URL of a request to the platform at the game's own origin, else null. */
function oursIn(address: string | URL): URL | null {
  const url = URL.parse(address, document.baseURI)
  const origin = url?.origin.replace(/^ws/, 'http')
  return url && origin === location.origin && OURS.test(url.pathname) ? url : null
}

/**
 * Adds the frame's token to the page's requests to the platform: `fetch`, `XMLHttpRequest` and room sockets. These
 * requests wait until the player is known.
 *
 * @param signedOut called when the page has signed the player out
 */
export function attachToken(session: FrameSession, signedOut: () => void): void {
  const { fetch, WebSocket } = window
  window.fetch = async (input, init) => {
    const url = oursIn(input instanceof Request ? input.url : input)
    if (!url) return fetch(input, init)
    if (url.pathname !== LOGOUT) await session.ready
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined))
    if (session.token && !headers.has('authorization')) headers.set('authorization', `Service ${session.token}`)
    const answer = await fetch(input, { ...init, headers })
    if (url.pathname === LOGOUT && answer.ok) signedOut()
    return answer
  }

  let settled = false
  void session.ready.then(() => {
    settled = true
  })
  const mustWait = (url: URL | null) => !settled && url !== null && url.pathname !== LOGOUT

  const { open, send, abort } = XMLHttpRequest.prototype
  const asked = new WeakMap<XMLHttpRequest, { url: URL; isAsync: boolean }>()
  const waiting = new WeakSet<XMLHttpRequest>()
  XMLHttpRequest.prototype.open = function (
    this: XMLHttpRequest,
    ...[method, address, ...rest]: Parameters<typeof open>
  ) {
    const url = oursIn(address)
    waiting.delete(this)
    if (url) asked.set(this, { url, isAsync: rest[0] ?? true })
    else asked.delete(this)
    open.apply(this, [method, address, ...rest])
  } as typeof open
  XMLHttpRequest.prototype.send = function (this: XMLHttpRequest, body) {
    const request = asked.get(this)
    if (!request) return send.call(this, body)
    const go = () => {
      if (session.token) this.setRequestHeader('authorization', `Service ${session.token}`)
      if (request.url.pathname === LOGOUT) this.addEventListener('load', () => this.status < 400 && signedOut())
      send.call(this, body)
    }
    if (waiting.has(this)) throw new DOMException('The request is sent already.', 'InvalidStateError')
    // A synchronous request can't wait.
    if (!request.isAsync || !mustWait(request.url)) return go()
    waiting.add(this)
    void session.ready.then(() => {
      // The page may have reopened or aborted the request in the meantime.
      if (asked.get(this) === request && waiting.delete(this)) go()
    })
  }
  XMLHttpRequest.prototype.abort = function (this: XMLHttpRequest) {
    const waited = waiting.delete(this)
    abort.call(this)
    if (waited) for (const kind of ['abort', 'loadend']) this.dispatchEvent(new ProgressEvent(kind))
  }

  const own: typeof WebSocket = new Proxy(WebSocket, {
    construct(target, [address, protocols = [], ...rest], newTarget) {
      const url = address === undefined ? null : oursIn(address)
      const connect = () => {
        const { token } = session
        const carried = token && url ? ['service', ...[protocols].flat(), `service.token.${token}`] : protocols
        return Reflect.construct(target, [address, carried, ...rest], newTarget) as WebSocket
      }
      // A subclass of the game's must create its own instance.
      const waits = newTarget === own && mustWait(url)
      return waits ? new DeferredWebSocket(address, session.ready, connect) : connect()
    },
  })
  window.WebSocket = own
}

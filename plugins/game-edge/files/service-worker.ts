import type { IncomingMessage } from 'node:http'

/**
 * Keeps a game's service worker out of the platform's requests: without it, a worker with a fallback for navigations, or
 * one that rebuilds responses, would swallow the sign-in and serve old scripts of the platform. The pictures of players
 * come from the portal's origin: their answers are opaque, and nobody can rebuild such a response. It is one line, so
 * that the lines of the script keep their numbers.
 */
const GUARD = Buffer.from(
  "globalThis.addEventListener('fetch',(event)=>{" +
    'const{origin,pathname}=new URL(event.request.url);' +
    'if(origin===globalThis.location.origin?/^\\/(?:auth\\/service|mp|__service)(?:\\/|$)/.test(pathname)' +
    ':/^\\/avatars\\/ply_[0-9A-Za-z]{26}$/.test(pathname))' +
    'event.stopImmediatePropagation()});',
)
const STRICT = Buffer.from("'use strict';")
/** The directive stands within these, after comments such as a licence. */
const DIRECTIVE_BYTES = 16 * 1024

/**
 * Whether a browser asks for the script of a service worker (Service Workers, section "Update") or for a module that it
 * imports, which runs before it.
 */
export const isForServiceWorker = ({ headers }: IncomingMessage): boolean =>
  headers['service-worker'] === 'script' || headers['sec-fetch-dest'] === 'serviceworker'

/** Puts the platform's listener before the script of a service worker. The first listener gets a request first. */
export const withGuard = (script: Buffer): Buffer =>
  Buffer.concat(beginsStrict(script.toString('latin1', 0, DIRECTIVE_BYTES)) ? [STRICT, GUARD, script] : [GUARD, script])

/** Whether a script begins with the directive, which counts only before the first statement. */
function beginsStrict(script: string): boolean {
  for (let at = 0; at < script.length; ) {
    if (script.startsWith('//', at)) at = after(script, '\n', at)
    else if (script.startsWith('/*', at)) at = after(script, '*/', at)
    else if (/[\s\xef\xbb\xbf]/.test(script[at] as string)) at++
    else return /^(['"])use strict\1/.test(script.slice(at, at + 12))
  }
  return false
}

function after(text: string, end: string, from: number): number {
  const at = text.indexOf(end, from)
  return at === -1 ? text.length : at + end.length
}

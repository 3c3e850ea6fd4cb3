import type { ServerResponse } from 'node:http'

/** Returns a signal that aborts when the client disconnects before the response is complete. */
export function abortOnDisconnect({ raw }: { raw: ServerResponse }): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort(new DOMException('The caller has gone away.', 'AbortError'))
  })
  return gone.signal
}

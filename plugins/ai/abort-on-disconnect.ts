import type { ServerResponse } from 'node:http'

/** Aborts when the caller goes away before the answer is out. */
export function abortOnDisconnect({ raw }: { raw: ServerResponse }): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort(new DOMException('The caller has gone away.', 'AbortError'))
  })
  return gone.signal
}

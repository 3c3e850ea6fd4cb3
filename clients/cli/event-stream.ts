import type { IncomingMessage } from 'node:http'
import { ConnectionError } from './http.ts'

/** Yields the server-sent events of a body; an event without a name is a `message`. @throws ConnectionError for a cut one */
export async function* eventsOf(body: IncomingMessage): AsyncGenerator<{ event: string; data: string }> {
  let text = ''
  body.setEncoding('utf8')
  try {
    for await (const chunk of body) {
      text += chunk
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const block = text.slice(0, end)
        text = text.slice(end + 2)
        const data = /^data: (.*)$/m.exec(block)?.[1]
        if (data !== undefined) yield { event: /^event: (.*)$/m.exec(block)?.[1] ?? 'message', data }
      }
    }
  } catch (error) {
    throw new ConnectionError(error as NodeJS.ErrnoException)
  }
}

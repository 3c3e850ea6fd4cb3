import { isPlatformError } from '../../core/errors.ts'
import type { Generation } from './schemas.ts'

/**
 * Sends pieces as server-sent events: `data: { delta }` each, then `event: done` with the answer, or `event: error`.
 *
 * @param view makes the answer's form for the caller
 */
export async function* events(
  pieces: AsyncGenerator<string, Generation>,
  view: (generation: Generation) => object = (generation) => generation,
): AsyncGenerator<string> {
  try {
    for (;;) {
      const { done, value } = await pieces.next()
      if (done) {
        yield doneEvent(JSON.stringify(view(value)))
        return
      }
      yield deltaEvent(value)
    }
  } catch (error) {
    if (!isPlatformError(error)) throw error
    const { message, code, body } = error
    yield `event: error\ndata: ${JSON.stringify({ error: { message, code }, ...body })}\n\n`
  } finally {
    await pieces.return?.(undefined as never)
  }
}

export const EVENT_STREAM = 'text/event-stream'
export const deltaEvent = (delta: string) => `data: ${JSON.stringify({ delta })}\n\n`
export const doneEvent = (generation: string) => `event: done\ndata: ${generation}\n\n`

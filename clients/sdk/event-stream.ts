export const isEventStream = ({ headers }: Response): boolean =>
  /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')

/**
 * Yields the server-sent events of a response with their data parsed as JSON; an event without a name is a `message`.
 * Leaving the iteration cancels the response. @throws ConnectionError when the connection breaks
 */
export async function* eventsOf({ body }: Response): AsyncGenerator<{ event: string; data: unknown }, void, void> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
      text += decoder.decode(next.value, { stream: true })
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const block = text.slice(0, end)
        text = text.slice(end + 2)
        const data = /^data: (.*)$/m.exec(block)?.[1]
        if (data === undefined) continue
        yield { event: /^event: (.*)$/m.exec(block)?.[1] ?? 'message', data: JSON.parse(data) }
      }
    }
  } finally {
    await reader?.cancel().catch(() => {})
  }
}

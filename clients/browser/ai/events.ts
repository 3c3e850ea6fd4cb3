/** Yields the server-sent events of a response; an event without a name is a `message`. */
export async function* readEvents({ body }: Response): AsyncGenerator<{ event: string; data: string }> {
  if (!body) return
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      text += decoder.decode(value, { stream: true })
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const block = text.slice(0, end)
        text = text.slice(end + 2)
        const data = /^data: (.*)$/m.exec(block)?.[1]
        if (data !== undefined) yield { event: /^event: (.*)$/m.exec(block)?.[1] ?? 'message', data }
      }
    }
  } finally {
    // Who stops reading ends the generation, which then costs nothing.
    void reader.cancel().catch(() => {})
  }
}

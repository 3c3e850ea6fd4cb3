/** The parts of a WebSocket that browsers and Node have. */
interface Socket {
  send(data: string | Uint8Array): void
  // biome-ignore lint/suspicious/noExplicitAny: an event of either
  addEventListener(type: string, listener: (event: any) => void): void
  // biome-ignore lint/suspicious/noExplicitAny: an event of either
  removeEventListener(type: string, listener: (event: any) => void): void
}

/**
 * Sends frames to a room, and then a ping. Resolves with what came back until its answer: `nothing`, `error <code>`, or
 * `close <code>`. It runs in Node and, by its source, in a page.
 */
export function outcomeOf(socket: Socket, frames: readonly (string | number[])[]): Promise<string> {
  const mark = `mark ${Math.random()}`
  return new Promise((resolve) => {
    let first = 'nothing'
    const finish = (outcome: string) => {
      socket.removeEventListener('message', hear)
      socket.removeEventListener('close', close)
      resolve(outcome)
    }
    const hear = ({ data }: { data: unknown }) => {
      const frame = typeof data === 'string' ? JSON.parse(data) : {}
      if (frame.t === 'error' && first === 'nothing') first = `error ${frame.code}`
      if (frame.t === 'pong' && frame.id === mark) finish(first)
    }
    const close = ({ code }: { code: number }) => finish(`close ${code}`)
    socket.addEventListener('message', hear)
    socket.addEventListener('close', close)
    for (const frame of frames) socket.send(typeof frame === 'string' ? frame : new Uint8Array(frame))
    socket.send(JSON.stringify({ t: 'ping', id: mark }))
  })
}

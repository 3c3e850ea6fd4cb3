import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { freePort } from './server.ts'

/** The faults of a TCP proxy. They concern open connections and later ones. */
export interface Faults {
  /** Silently drops what passes, while both sides believe the connection to be open. */
  isSwallowing: boolean
  /** Refuses new connections. */
  isRefusing: boolean
  /** The delay of each piece, in ms. */
  delayMs: number
}

/** A TCP proxy in front of a server, which can reset, swallow, delay and refuse. */
export interface FaultyNetwork extends Faults {
  /** The port of the proxy, known before the server starts. */
  readonly port: number
  /** The port of the server. */
  target: number
  /** Resets all open connections, as a network does that changes its address. */
  reset(): void
}

/** Starts the proxy at a free port. It ends with the test. */
export async function startFaultyNetwork(t: Pick<Test, 'teardown'>): Promise<FaultyNetwork> {
  const open = new Set<Socket>()
  const network: FaultyNetwork = {
    port: await freePort(),
    target: 0,
    isSwallowing: false,
    isRefusing: false,
    delayMs: 0,
    reset: () => {
      for (const socket of open) socket.resetAndDestroy()
    },
  }
  const server = createServer((client) => {
    const upstream = connect(network.target, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from)
      from.setNoDelay().on('error', () => {})
      from.on('close', () => {
        open.delete(from)
        to.destroySoon()
      })
      let last = Promise.resolve()
      from.on('data', (piece) => {
        if (network.isSwallowing) return
        const { delayMs } = network
        last = last.then(async () => {
          if (delayMs > 0) await sleep(delayMs)
          if (to.writable) to.write(piece)
        })
      })
    }
    if (network.isRefusing) client.resetAndDestroy()
  })
  server.listen(network.port, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    network.reset()
  })
  return network
}

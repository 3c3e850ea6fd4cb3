import websocket from '@fastify/websocket'
import type { FastifyInstance } from 'fastify'
import { CLOSE, frameLimits } from './room/limits.ts'
import type { MultiplayerLimits } from './schemas.ts'

/** The time for clients to close their side when the server stops. */
const CLOSE_GRACE_MS = 1000

/** Options of ws. Compression would cost memory for each socket. The others limit the fragments of a message. */
const SOCKET_OPTIONS = { perMessageDeflate: false, maxFragments: 128, maxBufferedChunks: 1024, closeTimeout: 5000 }

/**
 * Accepts the WebSockets of rooms, and closes them with the app.
 *
 * @param options `stop`: hands the rooms of this node over when the app closes
 * @returns `stopped` settles once that is done, or with its error
 */
export async function acceptSockets(
  app: FastifyInstance,
  { limits, stop }: { limits: MultiplayerLimits; stop: () => Promise<void> },
): Promise<{ stopped: () => Promise<void> | undefined }> {
  const { roomFrameBytes: frameBytes, roomStateBytes: stateBytes } = limits
  const maxPayload = frameLimits({ frameBytes, stateBytes }).stateFrameBytes
  let stopped: Promise<void> | undefined
  await app.register(websocket, {
    options: { ...SOCKET_OPTIONS, maxPayload },
    // Each connection handles its own errors. ws has already sent the close code.
    errorHandler: (error, socket, request) => {
      request.log.debug({ err: error }, 'a room socket failed')
      if (socket.readyState === socket.OPEN) socket.close(1011, 'internal error')
    },
    preClose(done) {
      const { clients } = this.websocketServer
      // The sockets stay open until their players have been sent all that was said in the rooms.
      stopped = stop().finally(() => {
        for (const client of clients) client.close(CLOSE.restart, 'restarting')
        setTimeout(() => {
          for (const client of clients) client.terminate()
        }, CLOSE_GRACE_MS).unref()
      })
      // Its failure is thrown by the `onClose` hook of the plugin.
      stopped.catch(() => {})
      this.websocketServer.close()
      done()
    },
  })
  // Once there is a listener for upgrades, Node passes it every socket that requested one, whichever route refuses
  // the request. Without this hook such a socket would stay open for as long as its client likes.
  app.addHook('onResponse', (request, _reply, done) => {
    if (request.raw.headers.upgrade !== undefined) request.raw.socket?.destroy()
    done()
  })
  return { stopped: () => stopped }
}

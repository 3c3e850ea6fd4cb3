// The servers of bench/rooms.ts and bench/authority.ts, as far as they are the same.
import { createServer } from 'node:http'

/** The size of the largest room of both benchmarks. */
export const LARGEST_ROOM = 200

/** What the load generator needs to open a player's socket. */
export interface Listening {
  port: number
  headers: Record<string, string>
}

/**
 * Starts a platform with one player and one game. All settings have their defaults, except that one account may hold all
 * sockets, and rooms have the scenario's size.
 *
 * @param files a build that is deployed first, with `room.js` as the script of its rooms
 */
export async function startGameyard(files?: Record<string, string>): Promise<Listening> {
  // Only the process of this server loads the platform: the others' memory is compared with it.
  const { freePort } = await import('../../test/kit/server.ts')
  const { manualClock } = await import('../../test/kit/driver-context.ts')
  const { Platform } = await import('../../test/kit/platform.ts')
  const { startKernel } = await import('../../test/kit/kernel.ts')
  const { headersOf, signInTo } = await import('../../test/plugins/multiplayer/kit.ts')
  const { plugins } = await import('../../plugins/index.ts')
  const port = await freePort()
  const test = { teardown() {} } as unknown as Parameters<typeof startKernel>[0]
  const limits = {
    rateLimits: false,
    connectionsPerAddress: 100_000,
    roomSocketsPerPlayer: 100_000,
    roomPlayers: LARGEST_ROOM,
  }
  const app = await startKernel(test, { plugins, config: { listen: { host: '127.0.0.1', port }, limits } })
  await app.listen({ host: '127.0.0.1', port })
  const platform = new Platform(app, manualClock())
  const player = await platform.signUp()
  const settings = { multiplayer: { maxPlayersPerRoom: LARGEST_ROOM } }
  const game = await platform.game(player, { settings })
  if (files) {
    const { filesOf, upload } = await import('../../test/plugins/deploy/build.ts')
    const program = await platform.program(player)
    const begun = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files), room: 'room.js' })
    for (const wanted of begun.body.uploads) await upload(platform, wanted, files)
    const finalized = await program.post(`/api/deploy/${begun.body.deployId}/finalize`)
    if (finalized.status !== 200) throw new Error(finalized.text)
  }
  const host = platform.gameHost(game.slug)
  await signInTo(player, host)
  return { port, headers: headersOf(player, host) }
}

/** Starts Colyseus with one kind of room, which clients find by its name. */
export async function startColyseus(
  room: Parameters<import('@colyseus/core').Server['define']>[1] & object,
): Promise<Listening> {
  const { Server } = await import('@colyseus/core')
  const { WebSocketTransport } = await import('@colyseus/ws-transport')
  const http = createServer()
  const server = new Server({ greet: false, transport: new WebSocketTransport({ server: http }) })
  server.define('bench', room).filterBy(['room'])
  await server.listen(0, '127.0.0.1')
  return { port: (http.address() as { port: number }).port, headers: {} }
}

/** Starts the server that the command line names, and writes one line of JSON once it listens. */
export async function runServer(servers: Record<string, () => Promise<Listening>>): Promise<void> {
  process.on('SIGTERM', () => process.exit(0))
  const start = servers[process.argv[2] ?? '']
  if (!start) throw new Error(`Say which: ${Object.keys(servers).join(', ')}`)
  process.stdout.write(`${JSON.stringify(await start())}\n`)
}

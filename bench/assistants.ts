/**
 * Measures what a tool costs beside its HTTP route: the processor time of `tools/call` of `games_list` and of `game_get`,
 * compared with `GET /api/games` and `GET /api/games/:id` with the same token on the same server, for clients of the
 * protocol revisions 2026-07-28 and 2025-11-25. `by the SDK` is the same call in a form that is not answered directly.
 *
 *     npx node bench/assistants.ts [rounds]
 *
 * The server is a separate process with 20 games on SQLite. This process creates the load over 16 connections.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { NODE_FLAGS } from '../bin/node-flags.js'
import { measureRate } from './closed-loop.ts'
import { ACCOUNT, createPlatform } from './platform.ts'
import { processorSeconds } from './servers.ts'

const REVISIONS = ['2026-07-28', '2025-11-25'] as const
const LIST = 'GET /api/games'
const GET = 'GET /api/games/:id'
const CONNECTIONS = 16
const REQUESTS = 2000
const WARM_UP = 3000

interface Ready {
  port: number
  token: string
  gameId: string
}

async function run(rounds: number): Promise<void> {
  const child = fork(import.meta.filename, ['serve'], {
    execArgv: NODE_FLAGS,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [{ port, token, gameId }] = (await once(child, 'message')) as [Ready]
  const head = `host: localhost:${port}\r\nauthorization: Bearer ${token}\r\n`
  const get = (path: string) => `GET ${path} HTTP/1.1\r\n${head}\r\n`
  const requests: Record<string, string> = {
    [LIST]: get('/api/games'),
    [GET]: get(`/api/games/${gameId}`),
  }
  for (const revision of REVISIONS) {
    requests[`games_list, ${revision}`] = call(head, 'games_list', {}, revision)
    requests[`game_get, ${revision}`] = call(head, 'game_get', { id: gameId }, revision)
    requests[`game_get by the SDK, ${revision}`] = call(head, 'game_get', { id: gameId }, revision, { unusual: true })
  }
  const costs = new Map(Object.keys(requests).map((name) => [name, [] as number[]]))
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const [name, request] of Object.entries(requests)) {
        const load = { connections: CONNECTIONS, requests: round === 0 ? WARM_UP : REQUESTS, request: () => request }
        const before = processorSeconds(child.pid as number)
        await measureRate(port, load, isWhole)
        const spent = processorSeconds(child.pid as number) - before
        if (round > 0) costs.get(name)?.push((spent * 1e6) / REQUESTS)
      }
    }
  } finally {
    child.kill()
  }
  const medians = new Map(Array.from(costs, ([name, values]) => [name, median(values)]))
  for (const [name, cost] of medians) {
    const route = name.startsWith('games_list') ? LIST : GET
    const ratio = (cost / (medians.get(route) ?? cost)).toFixed(2)
    process.stdout.write(`${name.padEnd(34)} ${cost.toFixed(0).padStart(5)} µs  ${ratio}\n`)
  }
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

function call(head: string, name: string, args: object, version: string, { unusual = false } = {}): string {
  const modern = version === REVISIONS[0]
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { name, arguments: args, ...(modern ? { _meta: envelope } : {}), ...(unusual ? { unusual } : {}) }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const derived = modern ? `mcp-method: tools/call\r\nmcp-name: ${name}\r\n` : ''
  return (
    `POST /mcp HTTP/1.1\r\n${head}${derived}mcp-protocol-version: ${version}\r\n` +
    'accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n' +
    `content-length: ${body.length}\r\n\r\n${body}`
  )
}

/** A response with a length, or in chunks as event streams are. @throws when it is no success, or a tool refused */
function isWhole(received: string): boolean {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return false
  if (!/^HTTP\/1\.1 200 /.test(received) || received.includes('"isError":true')) throw new Error(received.slice(0, 500))
  const length = /content-length: (\d+)/i.exec(received.slice(0, end))?.[1]
  return length === undefined ? received.endsWith('\r\n0\r\n\r\n') : received.length >= end + 4 + Number(length)
}

async function serve(): Promise<void> {
  const { app, port } = await createPlatform()
  await app.listen({ host: '127.0.0.1', port })
  const { id: playerId } = await app.identity.players.create(ACCOUNT)
  const { token } = await app.tokens.create({ playerId, label: 'bench', scopes: ['games:read'] })
  let gameId = ''
  for (let number = 1; number <= 20; number++) {
    gameId = (await app.games.create(playerId, { title: `Game ${number}`, description: 'A game of dots.' })).id
  }
  process.send?.({ port, token, gameId } satisfies Ready)
}

await (process.argv[2] === 'serve' ? serve() : run(Number(process.argv[2] ?? 5)))

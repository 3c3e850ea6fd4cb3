/**
 * Measures saves: durable PUTs of 4 KB a second on one process with SQLite on disk (synchronous=full), beside Redis with
 * `appendfsync always` and beside a node:http server that writes each body to a file and answers after an fsync, for all
 * bodies that wait; and GETs beside `GET /api/cli/whoami`.
 *
 *     npx node bench/saves.ts [rounds] [--only puts|gets] [--rows 10000000]
 *
 * A GET is also compared with its floor: a route of the same origin that looks up the same session, and answers with a
 * constant buffer of 4 KB. What is between the two is the look-up in the database, the rate limit and the headers.
 *
 * With `--rows` it fills the tables with that many saves of other players first, and measures before and after. A row
 * takes about 450 bytes of disk. Each server is a separate process. 64 players write eight saves each over 64
 * connections. This process creates the load, and never sleeps.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { NODE_FLAGS } from '../bin/node-flags.js'
import { loadConfig } from '../config/load.ts'
import { folderSource } from '../core/data/built-files.ts'
import { createKernel } from '../core/kernel.ts'
import { definePlugin } from '../core/plugin.ts'
import { families } from '../drivers/index.ts'
import { plugins } from '../plugins/index.ts'
import { freePort } from '../test/kit/server.ts'
import { measureRate } from './closed-loop.ts'
import { processorSeconds } from './servers.ts'

const CONNECTIONS = 64
const PLAYERS = 64
const REQUESTS = Number(process.env.REQUESTS ?? 10_000)
const REDIS = '/usr/bin/redis-server'
const VALUE = 'x'.repeat(4096)
/** Rows in one transaction of the filling. */
const FILL = 100_000

/** The message of a server process. */
interface Ready {
  port: number
  host?: string
  cookies?: string[]
  token?: string
}

interface Peer extends Ready {
  child: ChildProcess
}

/** The servers; null for those that no part of the benchmark needs. */
interface Peers {
  gameyard: Peer
  file: Peer | null
  redis: Peer | null
}

type Part = 'puts' | 'file' | 'redis' | 'gets' | 'constant' | 'whoami'
const PARTS = {
  puts: ['puts', 'file', 'redis'],
  gets: ['puts', 'gets', 'constant', 'whoami'], // something must have been written
  all: ['puts', 'file', 'redis', 'gets', 'constant', 'whoami'],
} as const satisfies Record<string, Part[]>

const NAMES: Record<Part, string> = {
  puts: 'PUT of 4 KB, SQLite on disk, durable',
  file: 'the same into a file, one fsync for all that wait',
  redis: 'Redis SET of 4 KB, appendfsync always',
  gets: 'GET of 4 KB',
  constant: 'the floor: the same session, a constant of 4 KB',
  whoami: 'GET /api/cli/whoami',
}

/** @param only the parts of the benchmark */
async function run(rounds: number, rows: number, only: keyof typeof PARTS): Promise<void> {
  const parts: readonly Part[] = PARTS[only]
  const gameyard = await start('gameyard')
  const peers: Peers = {
    gameyard,
    file: parts.includes('file') ? await start('file') : null,
    redis: parts.includes('redis') ? await startRedis() : null,
  }
  try {
    await measure('empty', { rounds, parts }, peers)
    if (rows === 0) return
    const began = performance.now()
    gameyard.child.send(rows)
    await once(gameyard.child, 'message')
    process.stdout.write(`filled in ${Math.round((performance.now() - began) / 1000)} s\n`)
    await measure(`${rows} saves of others`, { rounds, parts }, peers)
  } finally {
    for (const peer of Object.values(peers)) peer?.child.kill()
  }
}

async function measure(
  title: string,
  { rounds, parts }: { rounds: number; parts: readonly Part[] },
  { gameyard, file, redis }: Peers,
) {
  const { host = '', cookies = [], token = '' } = gameyard
  const results = new Map<Part, { rate: number; micros: number }[]>(parts.map((part) => [part, []]))
  const head = (method: string, number: number, path = `saves/key${number % 8}`) =>
    `${method} /__service/${path} HTTP/1.1\r\nhost: ${host}\r\ncookie: ${cookies[number % PLAYERS]}\r\n`
  const put = (number: number) =>
    `${head('PUT', number)}origin: http://${host}\r\ncontent-type: text/plain\r\ncontent-length: 4096\r\n\r\n${VALUE}`
  const plainPut = () => `PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: 4096\r\n\r\n${VALUE}`
  const set = (number: number) => {
    const key = `${number % PLAYERS}/key${number % 8}`
    return `*3\r\n$3\r\nSET\r\n$${key.length}\r\n${key}\r\n$4096\r\n${VALUE}\r\n`
  }
  const whoami = () =>
    `GET /api/cli/whoami HTTP/1.1\r\nhost: ${host.replace(/^\w+\./, '')}\r\nauthorization: Bearer ${token}\r\n\r\n`
  const loads: Record<Part, () => ReturnType<typeof load>> = {
    puts: () => load(gameyard, put),
    file: () => load(file as Peer, plainPut),
    redis: () => load(redis as Peer, set, isRedisAnswer),
    gets: () => load(gameyard, (number) => `${head('GET', number)}\r\n`),
    constant: () => load(gameyard, (number) => `${head('GET', number, 'constant')}\r\n`),
    whoami: () => load(gameyard, whoami),
  }
  for (let round = -1; round < rounds; round++) {
    for (const [part, found] of results) {
      const one = await loads[part]()
      // The first round warms up.
      if (round >= 0) found.push(one)
    }
  }
  const median = (part: Part, value: 'rate' | 'micros') =>
    (results.get(part) ?? []).map((one) => one[value]).toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? Number.NaN
  process.stdout.write(`${title}\n`)
  for (const part of parts) {
    const [rate, micros] = [median(part, 'rate'), median(part, 'micros')].map((value) => String(Math.round(value)))
    process.stdout.write(
      `${NAMES[part].padEnd(56)} ${rate?.padStart(7)}/s ${micros?.padStart(6)} µs of processor time\n`,
    )
  }
  const ratio = (a: Part, b: Part) => (median(a, 'rate') / median(b, 'rate')).toFixed(2)
  const work = (a: Part, b: Part) => (median(b, 'micros') / median(a, 'micros')).toFixed(2)
  if (results.has('file'))
    process.stdout.write(`ratios: PUT ${ratio('puts', 'file')} of the file, ${ratio('puts', 'redis')} of Redis\n`)
  if (results.has('gets'))
    process.stdout.write(
      `ratios: GET ${ratio('gets', 'whoami')} of whoami, by processor time ${work('gets', 'whoami')}; the floor ` +
        `${work('constant', 'whoami')} of whoami, GET ${work('gets', 'constant')} of the floor\n`,
    )
}

async function start(name: string): Promise<Peer> {
  // Our server gets the same Node flags as with `gameyard serve`.
  const execArgv = name === 'gameyard' ? NODE_FLAGS : []
  const child = fork(import.meta.filename, ['--role', name], {
    execArgv,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [ready] = (await once(child, 'message')) as [Ready]
  return { child, ...ready }
}

async function startRedis(): Promise<Peer> {
  const dir = mkdtempSync(join(tmpdir(), 'gameyard-bench-'))
  const port = await freePort()
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '']
  const child = spawn(REDIS, [...options, '--appendonly', 'yes', '--appendfsync', 'always'], {
    stdio: 'ignore',
  })
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }))
  for (let tries = 0; tries < 100; tries++) {
    const socket = connect(port, '127.0.0.1')
    const isUp = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'close').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (isUp) return { child, port }
    await sleep(50)
  }
  throw new Error('Redis did not come up.')
}

function isRedisAnswer(received: string): boolean {
  if (received.length < 5) return false
  if (received !== '+OK\r\n') throw new Error(received)
  return true
}

/** @returns requests a second, and the server's processor time for one */
async function load(
  { port, child }: Peer,
  request: (number: number) => string,
  isComplete?: (received: string) => boolean,
): Promise<{ rate: number; micros: number }> {
  const before = processorSeconds(child.pid as number)
  const rate = await measureRate(port, { connections: CONNECTIONS, requests: REQUESTS, request }, isComplete)
  return { rate, micros: ((processorSeconds(child.pid as number) - before) * 1e6) / REQUESTS }
}

async function serveGameyard(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  process.on('SIGTERM', () => process.exit())
  const port = await freePort()
  const env = {
    SERVICE_LIMITS__RATE_LIMITS: 'false',
    SERVICE_LISTEN__PORT: String(port),
    SERVICE_PORTAL__URL: `http://localhost:${port}`,
    SERVICE_STUDIO__URL: `http://localhost:${port}`,
    SERVICE_GAMES__DOMAIN: `localhost:${port}`,
    SERVICE_AUTH__PASSWORD_HASHING__MEMORY: '8',
    SERVICE_AUTH__PASSWORD_HASHING__PASSES: '1',
  }
  const { config, plugins: chosen, drivers } = await loadConfig({ cwd: folder, env, families, plugins })
  const assets = folderSource(resolve(import.meta.dirname, '../dist/browser'))
  const constant = definePlugin({ name: 'constant', dependencies: ['game-edge'] }, async (app) => {
    const bytes = Buffer.from(VALUE)
    app.get(
      '/__service/constant',
      { config: { auth: 'none', quiet: true }, constraints: { origin: 'game' }, schema: { hide: true } },
      async (request, reply) => {
        const session = await app.edge.sessionOf(request, await app.edge.gameOf(request))
        if (!session) throw new Error('Nobody is signed in.')
        return reply.header('content-type', 'text/plain').send(bytes)
      },
    )
  })
  const app = await createKernel(config, {
    plugins: [...chosen, constant],
    drivers,
    browserFiles: assets,
    version: 'bench',
  })
  await app.listen({ host: '127.0.0.1', port })
  const { identity } = app
  const makePlayer = (number: number) =>
    identity.players.create({
      email: `p${number}@example.org`,
      password: 'correct yard battery fence',
      name: `P${number}`,
    })
  const owner = await makePlayer(-1)
  const game = await app.games.create(owner.id, { title: 'Pong', description: '' })
  const host = new URL(game.url).host
  const cookies: string[] = []
  for (let number = 0; number < PLAYERS; number++) {
    const { id, name } = await makePlayer(number)
    const consentId = await identity.consents.remember(id, game.clientId, ['profile'], { asked: false })
    const granted = {
      player: { id, name, imageUrl: null },
      scope: 'profile',
      clientId: game.clientId,
      consentId,
      sessionId: null,
      isOfFrame: false,
    }
    const request = { headers: { host } } as Parameters<typeof app.edge.sessions.start>[0]
    const lines = await app.edge.sessions.start(request, host, game, granted)
    cookies.push((lines.at(-1) as string).split(';')[0] as string)
  }
  const { token } = await app.tokens.create({ playerId: owner.id, label: 'bench', scopes: ['games:read'] })
  process.on('message', async (rows: number) => {
    for (let from = 0; from < rows; from += FILL) await fill(app, game.id, from, Math.min(FILL, rows - from))
    process.send?.({ port })
  })
  process.send?.({ port, host, cookies, token })
}

/** Adds saves of players who never come, ten each, in the order of their ids, as those of players are in that of time. */
async function fill(app: Awaited<ReturnType<typeof createKernel>>, gameId: string, from: number, count: number) {
  const numbers = 'with recursive n(i) as (select ? union all select i + 1 from n where i + 1 < ?)'
  const player = "'ply_' || printf('%026d', i / 10)"
  const range = [from, from + count]
  await app.db.execute(
    `insert into saves (game_id, player_id, key, version, size, content_type, updated_at)
     ${numbers} select ?, ${player}, 'key' || (i % 10), 1, 100, 'text/plain', 1 from n`,
    [...range, gameId],
  )
  await app.db.execute(
    `insert into save_versions (game_id, player_id, key, version, size, content_type, created_at, value)
     ${numbers} select ?, ${player}, 'key' || (i % 10), 1, 100, 'text/plain', 1, randomblob(100) from n`,
    [...range, gameId],
  )
  await app.db.execute(
    `insert into save_usage (player_id, game_id, keys, bytes, kept_bytes, counted_bytes, counted, version_floor)
     ${numbers} select ${player}, ?, 10, 1000, 1000, 1000, 1, 0 from n where i % 10 = 0`,
    [...range, gameId],
  )
}

/** Writes bodies into a file. All that have arrived share one fsync. */
async function serveFile(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  process.on('SIGTERM', () => process.exit())
  const file = openSync(join(folder, 'values'), 'a')
  let waiting: { body: Buffer; response: ServerResponse }[] = []
  const commit = () => {
    const group = waiting
    waiting = []
    for (const { body } of group) writeSync(file, body)
    fsyncSync(file)
    for (const { response } of group) response.writeHead(200, { 'content-length': 2 }).end('ok')
  }
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    if (waiting.push({ body, response }) === 1) setImmediate(commit)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.send?.({ port: (server.address() as AddressInfo).port })
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '0' },
    only: { type: 'string', default: 'all' },
    role: { type: 'string' },
  },
})
if (values.role === 'gameyard') await serveGameyard()
else if (values.role === 'file') await serveFile()
else await run(Number(positionals[0] ?? 3), Number(values.rows), values.only as keyof typeof PARTS)

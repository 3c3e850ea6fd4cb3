/**
 * Measures boards: a submission that is answered with its exact rank, and the entries around a player, on a board with
 * 10,000 and with 1,000,000 players. The peer is a Redis sorted set behind a bare Fastify route, which appends to its
 * file with fsync at each write.
 *
 *     npx node bench/scores.ts [sqlite|postgres|redis …] [--entries 1000000] [--requests 1500] [--rate 100] [--pause]
 *     npx node bench/scores.ts processor [sqlite|postgres] [--entries 1000000] [--requests 1500]
 *
 * Each server is a separate process on real HTTP. Our servers store durably: SQLite with synchronous=full, PostgreSQL
 * with fsync. All are filled first; with `--pause` the measurement then waits for a line on standard input, such as for
 * a quiet moment.
 *
 * Latencies are those of an open loop: `--rate` requests a second, sent when they are due whether or not the former ones
 * are answered, and timed from then on. Then 64 connections send three times as many submissions, for the rate and for
 * the processor time of one: that of the server, and of its database or of Redis. Between the servers a bare file is
 * written and synced at the same rate: what the disk takes by itself.
 *
 * `processor` measures the processor time of each operation in one process without HTTP, the database included only
 * with SQLite. Other work on the machine changes it little.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import Fastify from 'fastify'
import { createClient } from 'redis'
import { NODE_FLAGS } from '../bin/node-flags.js'
import { freePort } from '../test/kit/server.ts'
import { RANGE, startScoresPlatform } from './scores-platform.ts'
import { processorSeconds } from './servers.ts'

const PLAYERS = 256
const CONNECTIONS = 64
const FEW = 10_000
const REDIS = '/usr/bin/redis-server'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    entries: { type: 'string', default: '1000000' },
    requests: { type: 'string', default: '1500' },
    rate: { type: 'string', default: '100' },
    pause: { type: 'boolean', default: false },
  },
})
const REQUESTS = Number(values.requests)
const AT_ONCE = REQUESTS * 3
/** Requests a second of the open loop. */
const RATE = Number(values.rate)
/** The bytes that a submission adds to the write-ahead log, roughly. */
const SYNCED_BYTES = 40 * 1024

/** The message of a server: its port, and the headers and id of each player. */
interface Ready {
  port: number
  players: { id: string; headers: Record<string, string> }[]
}

interface Target extends Ready {
  name: string
  entries: number
  child: ChildProcess
}

async function run(names: string[], most: number): Promise<void> {
  const targets: Target[] = []
  try {
    for (const name of names) for (const entries of [FEW, most]) targets.push(await start(name, entries))
    if (values.pause) {
      process.stdout.write('filled\n')
      await once(process.stdin, 'data')
      process.stdin.destroy()
    }
    await measureDisk()
    for (const target of targets) {
      await measure(target)
      await measureDisk()
    }
  } finally {
    await Promise.all(targets.map(({ child }) => stop(child)))
  }
}

async function start(name: string, entries: number): Promise<Target> {
  const execArgv = name === 'redis' ? [] : NODE_FLAGS
  const child = fork(import.meta.filename, ['serve', name], { execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const [ready] = (await once(child, 'message')) as [Ready]
  child.send(entries)
  await once(child, 'message')
  return { name, entries, child, ...ready }
}

/** Writes and syncs a bare file. */
async function measureDisk(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-bench-'))
  const file = openSync(join(folder, 'bare'), 'w')
  const bytes = Buffer.alloc(SYNCED_BYTES, 1)
  const { p50, p99 } = await times(REQUESTS, async () => {
    writeSync(file, bytes)
    fdatasyncSync(file)
  })
  closeSync(file)
  rmSync(folder, { recursive: true })
  process.stdout.write(`a bare file, ${SYNCED_BYTES / 1024} KB and fdatasync: p50 ${p50} p99 ${p99} ms\n`)
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

async function measure({ name, entries, port, players, child }: Target): Promise<void> {
  const pid = child.pid as number
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const send = (method: string, path: string, headers: Record<string, string>, body?: object) =>
    new Promise<void>((done, failed) => {
      const text = body && JSON.stringify(body)
      const sent = httpRequest({
        agent,
        port,
        method,
        path,
        host: '127.0.0.1',
        headers: { ...headers, ...(text ? { 'content-type': 'application/json', 'content-length': text.length } : {}) },
      })
      sent.on('response', (answer) => {
        answer.resume()
        answer.on('end', () => (answer.statusCode === 200 ? done() : failed(new Error(`It was ${answer.statusCode}.`))))
      })
      sent.on('error', failed)
      sent.end(text)
    })
  let turn = 0
  const next = () => players[turn++ % players.length] as Ready['players'][0]
  const submit = ({ headers }: Ready['players'][0]) =>
    send('POST', '/__service/scores/fastest', headers, { score: Math.floor(Math.random() * RANGE) })
  const around = ({ headers }: Ready['players'][0]) =>
    send('GET', '/__service/scores/fastest?around=me&limit=10', headers)

  for (let count = 0; count < PLAYERS * 4; count++) await submit(next())
  const submitting = await times(REQUESTS, () => submit(next()))
  const reading = await times(REQUESTS, () => around(next()))
  const before = processorSeconds(pid)
  const began = performance.now()
  let left = AT_ONCE
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (left-- > 0) await submit(next())
    }),
  )
  const rate = AT_ONCE / ((performance.now() - began) / 1000)
  const millis = ((processorSeconds(pid) - before) * 1000) / AT_ONCE
  agent.destroy()
  process.stdout.write(
    `${name.padEnd(9)} ${String(entries).padStart(9)} entries: submit p50 ${submitting.p50} p99 ${submitting.p99} ms, ` +
      `around p50 ${reading.p50} p99 ${reading.p99} ms, ${Math.round(rate)} submissions/s ` +
      `at ${millis.toFixed(2)} ms of processor time each\n`,
  )
}

/** Starts `work` at `RATE`, and times each from the moment at which it is due. This process never sleeps meanwhile. */
async function times(count: number, work: () => Promise<void>): Promise<{ p50: string; p99: string }> {
  const taken: number[] = []
  const running: Promise<void>[] = []
  const began = performance.now()
  for (let number = 0; number < count; number++) {
    const due = began + (number * 1000) / RATE
    while (performance.now() < due) await nextTurn()
    running.push(work().then(() => void taken.push(performance.now() - due)))
  }
  await Promise.all(running)
  taken.sort((a, b) => a - b)
  const at = (part: number) => (taken[Math.floor(taken.length * part)] ?? 0).toFixed(2)
  return { p50: at(0.5), p99: at(0.99) }
}

async function serveGameyard(kind: string): Promise<void> {
  const { port, players, fillTo, close } = await startScoresPlatform(kind, PLAYERS)
  process.on('SIGTERM', async () => {
    await close()
    process.exit()
  })
  process.on('message', async (entries: number) => {
    await fillTo(entries)
    process.send?.('filled')
  })
  process.send?.({ port, players } satisfies Ready)
}

async function serveRedis(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-bench-'))
  const [redisPort, port] = [await freePort(), await freePort()]
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '']
  const server = spawn(REDIS, ['--port', String(redisPort), '--bind', '127.0.0.1', '--dir', folder, ...durable])
  await sleep(1000)
  const client = await createClient({ url: `redis://127.0.0.1:${redisPort}` }).connect()
  process.on('SIGTERM', async () => {
    client.destroy()
    const ended = once(server, 'exit')
    server.kill()
    await ended
    rmSync(folder, { recursive: true, force: true })
    process.exit()
  })
  const app = Fastify()
  app.post<{ Body: { score: number } }>('/__service/scores/fastest', async ({ headers, body: { score } }) => {
    const value = String(headers['x-player'])
    const [, rank, total] = await client
      .multi()
      .zAdd('board', { score, value })
      .zRevRank('board', value)
      .zCard('board')
      .exec()
    return { score, best: score, rank, total }
  })
  app.get('/__service/scores/fastest', async ({ headers }) => {
    const value = String(headers['x-player'])
    const rank = (await client.zRevRank('board', value)) ?? 0
    const from = Math.max(0, rank - 5)
    return { rank, entries: await client.zRangeWithScores('board', from, from + 9, { REV: true }) }
  })
  await app.listen({ host: '127.0.0.1', port })
  let filled = 0
  process.on('message', async (entries: number) => {
    for (; filled < entries; filled += 2000) {
      const members = Array.from({ length: 2000 }, (_, index) => {
        return { score: Math.floor(Math.random() * RANGE), value: `ply_X${filled + index}` }
      })
      await client.zAdd('board', members)
    }
    process.send?.('filled')
  })
  const players = Array.from({ length: PLAYERS }, (_, number) => {
    return { id: `ply_${number}`, headers: { 'x-player': `ply_${number}` } }
  })
  process.send?.({ port, players } satisfies Ready)
}

/** Measures the processor time of each operation, at each size, without HTTP. */
async function measureProcessor(kind: string, most: number): Promise<void> {
  const { app, game, players, fillTo, close } = await startScoresPlatform(kind, PLAYERS)
  const board = await app.scores.boards.get(game.id, 'fastest')
  let turn = 0
  const next = () => (players[turn++ % players.length] as { id: string }).id
  const submit = () =>
    app.scores.submit({
      gameId: game.id,
      boardId: 'fastest',
      playerId: next(),
      writer: 'players',
      score: Math.floor(Math.random() * RANGE),
    })
  const around = () => app.scores.lists.page(board, { limit: 10, period: 'current', playerId: next(), around: true })
  const together = () => Promise.all(Array.from({ length: CONNECTIONS }, submit))
  const measures = { alone: [submit, 1], 'of 64': [together, CONNECTIONS], around: [around, 1] } as const
  for (const entries of [FEW, most / 10, most]) {
    await fillTo(entries)
    const parts: string[] = []
    for (const [name, [work, operations]] of Object.entries(measures)) {
      const rounds = Math.ceil((2 * REQUESTS) / operations)
      for (let round = 0; round < rounds / 3; round++) await work()
      const before = process.cpuUsage()
      for (let round = 0; round < rounds; round++) await work()
      const { user, system } = process.cpuUsage(before)
      parts.push(`${name} ${((user + system) / 1000 / rounds / operations).toFixed(3)} ms`)
    }
    process.stdout.write(
      `${kind.padEnd(9)} ${String(entries).padStart(9)} entries, processor time: ${parts.join(', ')}\n`,
    )
  }
  await close()
}

if (positionals[0] === 'serve') {
  if (positionals[1] === 'redis') await serveRedis()
  else await serveGameyard(positionals[1] ?? 'sqlite')
} else if (positionals[0] === 'processor') await measureProcessor(positionals[1] ?? 'sqlite', Number(values.entries))
else await run(positionals.length > 0 ? positionals : ['sqlite', 'postgres', 'redis'], Number(values.entries))

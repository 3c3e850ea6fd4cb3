/**
 * Measures boards: a submission that is answered with its exact rank, and the entries around a player, on a board with
 * 10,000 and with 1,000,000 players. The peer is a Redis sorted set behind a bare Fastify route, which appends to its
 * file with fsync at each write.
 *
 *     node bench/scores.ts [sqlite|postgres|redis …] [--entries 1000000]
 *
 * Each server is a separate process on real HTTP. Our servers store durably: SQLite with synchronous=full, PostgreSQL
 * with fsync. First one connection sends requests one after another, for the latencies; then 64 connections send
 * submissions, for the rate.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import Fastify from 'fastify'
import { createClient } from 'redis'
import { NODE_FLAGS } from '../bin/node-flags.js'
import { loadConfig } from '../config/load.ts'
import { folderSource } from '../core/data/built-files.ts'
import { createKernel } from '../core/kernel.ts'
import { families } from '../drivers/index.ts'
import { plugins } from '../plugins/index.ts'
import { RankTree } from '../plugins/scores/ranks/tree.ts'
import { launchPostgres } from '../test/kit/postgres.ts'
import { freePort } from '../test/kit/server.ts'

const PLAYERS = 256
const CONNECTIONS = 64
const FEW = 10_000
const ONE_BY_ONE = 3000
const AT_ONCE = 10_000
const REDIS = '/usr/bin/redis-server'
const RANGE = 1_000_000_000

/** The message of a server: its port, and the headers and id of each player. */
interface Ready {
  port: number
  players: { id: string; headers: Record<string, string> }[]
}

async function run(names: string[], most: number): Promise<void> {
  for (const name of names) {
    const execArgv = name === 'redis' ? [] : NODE_FLAGS
    const child = fork(import.meta.filename, ['serve', name], {
      execArgv,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    try {
      const [ready] = (await once(child, 'message')) as [Ready]
      for (const entries of [FEW, most]) {
        child.send(entries)
        await once(child, 'message')
        await measure(name, entries, ready)
      }
    } finally {
      await stop(child)
    }
  }
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

async function measure(name: string, entries: number, { port, players }: Ready): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const send = (method: string, path: string, headers: Record<string, string>, body?: object) =>
    new Promise<void>((done, failed) => {
      const text = body && JSON.stringify(body)
      const sent = httpRequest({
        ...{ agent, port, method, path, host: '127.0.0.1' },
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
  const submitting = await times(ONE_BY_ONE, () => submit(next()))
  const reading = await times(ONE_BY_ONE, () => around(next()))
  const began = performance.now()
  let left = AT_ONCE
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (left-- > 0) await submit(next())
    }),
  )
  const rate = AT_ONCE / ((performance.now() - began) / 1000)
  agent.destroy()
  process.stdout.write(
    `${name.padEnd(9)} ${String(entries).padStart(9)} entries: submit p50 ${submitting.p50} p99 ${submitting.p99} ms, ` +
      `around p50 ${reading.p50} p99 ${reading.p99} ms, ${Math.round(rate)} submissions/s\n`,
  )
}

async function times(count: number, work: () => Promise<void>): Promise<{ p50: string; p99: string }> {
  const taken: number[] = []
  for (let done = 0; done < count; done++) {
    const began = performance.now()
    await work()
    taken.push(performance.now() - began)
  }
  taken.sort((a, b) => a - b)
  const at = (part: number) => (taken[Math.floor(taken.length * part)] ?? 0).toFixed(2)
  return { p50: at(0.5), p99: at(0.99) }
}

async function serveGameyard(kind: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-bench-'))
  const postgres = kind === 'postgres' ? await launchPostgres({ durable: true }) : null
  const port = await freePort()
  const env: Record<string, string> = { SERVICE_LIMITS__RATE_LIMITS: 'false', SERVICE_LISTEN__PORT: String(port) }
  if (postgres) {
    env.SERVICE_DATABASE__DRIVER = 'postgres'
    env.SERVICE_DATABASE__URL = await postgres.database()
    env.SERVICE_SECRET = 'a secret for one run of a measurement'
  }
  const { config, plugins: chosen, drivers } = await loadConfig({ cwd: folder, env, families, plugins })
  const assets = folderSource(resolve(import.meta.dirname, '../dist/browser'))
  const app = await createKernel(config, { plugins: chosen, drivers, browserFiles: assets, version: 'bench' })
  await app.listen({ host: '127.0.0.1', port })
  process.on('SIGTERM', async () => {
    await app.close()
    await postgres?.remove()
    rmSync(folder, { recursive: true, force: true })
    process.exit()
  })

  const owner = await app.identity.players.create({
    email: 'a@example.org',
    password: 'correct yard battery',
    name: 'A',
  })
  const game = await app.games.create(owner.id, { title: 'Bench', description: '' })
  const { board } = await app.scores.boards.put(game.id, 'fastest', { title: 'Fastest', keep: 'last' })
  const host = new URL(game.url).host
  const players: Ready['players'] = []
  for (let number = 0; number < PLAYERS; number++) {
    const id = `ply_${String(number).padStart(26, '0')}`
    await app.db.execute(
      `insert into players (id, email_verified, name, guest, is_admin, moderator, disabled, epoch, created_at)
       values (?, ?, ?, ?, ?, ?, ?, 0, ?)`,
      [id, false, `Player ${number}`, false, false, false, false, new Date()],
    )
    const consentId = await app.identity.consents.remember(id, game.clientId, ['profile'])
    const player = { id, name: `Player ${number}`, imageUrl: null }
    const granted = { player, scope: 'profile', clientId: game.clientId, consentId, sessionId: null }
    const cookies = await app.edge.sessions.start({ headers: { host } } as never, host, game, granted)
    const cookie = cookies.filter((line) => !/Max-Age=0/.test(line)).map((line) => line.split(';')[0])
    players.push({ id, headers: { host, origin: `http://${host}`, cookie: cookie.join('; ') } })
  }
  let filled = 0
  process.on('message', async (entries: number) => {
    for (; filled < entries; filled += 2000) await fill(app, board.key, filled)
    if (postgres) await app.db.execute('analyze')
    process.send?.('filled')
  })
  process.send?.({ port, players } satisfies Ready)
}

/** Adds 2000 entries of nobody in particular, as submissions would. */
async function fill(app: Awaited<ReturnType<typeof createKernel>>, board: string, from: number): Promise<void> {
  await app.db.groupCommit(async (statements) => {
    const changes = new Map<number, number>()
    for (let at = from; at < from + 2000; at += 50) {
      const rows = Array.from({ length: 50 }, (_, index) => {
        const score = Math.floor(Math.random() * RANGE)
        changes.set(-score, (changes.get(-score) ?? 0) + 1)
        return [board, `ply_X${String(at + index).padStart(25, '0')}`, score, -score, new Date()]
      })
      await statements.execute(
        `insert into score_entries (board, period, player_id, score, sort_key, at)
         values ${rows.map(() => '(?, 0, ?, ?, ?, ?)').join(', ')}`,
        rows.flat(),
      )
    }
    await new RankTree(statements, { board, period: 0 }).update(changes)
  })
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

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { entries: { type: 'string', default: '1000000' } },
})
if (positionals[0] === 'serve') {
  if (positionals[1] === 'redis') await serveRedis()
  else await serveGameyard(positionals[1] ?? 'sqlite')
} else await run(positionals.length > 0 ? positionals : ['sqlite', 'postgres', 'redis'], Number(values.entries))

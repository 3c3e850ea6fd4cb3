/**
 * Measures the time to the first byte of HTML, signed in, with 1,000 games and 10,000 players in SQLite on disk,
 * compared with a bare Fastify route that answers a page of the same size. Requests are sequential, as from one
 * browser. It also measures the CPU time that the server spends on each, which other work on the machine hardly
 * changes.
 *
 *     npx node bench/portal.ts [requests] [only pages with this text]
 *
 * The time to first paint, in Chromium on a slow connection with a slow CPU:
 *
 *     npx node bench/portal.ts paint [rounds] [only pages with this text]
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { cpus, loadavg } from 'node:os'
import Fastify from 'fastify'
import { newId } from '../core/ids.ts'
import { firstPaints } from './first-paint.ts'
import { ACCOUNT, createPlatform } from './platform.ts'

const GAMES = 1000
const PLAYERS = 10_000
const PAGES = [
  '/',
  '/catalog',
  '/catalog?q=game',
  '/games',
  '/games/game-7/overview',
  '/admin',
  '/admin/players',
  '/admin/games',
]
const PAGE_BYTES = 24_000

interface Ready {
  port: number
  cookie: string
}

async function run(requests: number, only: string): Promise<void> {
  const [gameyard, bare] = await Promise.all(['gameyard', 'bare'].map(start))
  try {
    if (!gameyard || !bare) return
    await measure(bare, '/', 200)
    const base = await measure(bare, '/', requests)
    const machine = `Node ${process.version}, ${cpus()[0]?.model} × ${cpus().length}, load average ${loadavg()[0]?.toFixed(1)}`
    process.stdout.write(`${machine}; ${requests} requests a page\n`)
    process.stdout.write(`${'page'.padEnd(26)} p50 ms  p95 ms  × bare  CPU ms\n`)
    const line = (name: string, { p50, p95, cpu }: Times) => {
      const numbers = [p50.toFixed(2), p95.toFixed(2), (p95 / base.p95).toFixed(1), cpu.toFixed(2)]
      process.stdout.write(`${name.padEnd(26)} ${numbers.map((number) => number.padStart(6)).join('  ')}\n`)
    }
    line('bare Fastify page', base)
    for (const path of PAGES.filter((page) => page.includes(only))) {
      await measure(gameyard, path, 20)
      line(path, await measure(gameyard, path, requests))
    }
  } finally {
    for (const server of [gameyard, bare]) server?.child.kill()
  }
}

/** Measures each kind of page with much content, and navigation in the API reference. */
async function paint(rounds: number, only: string): Promise<void> {
  const server = await start('gameyard')
  try {
    const origin = `http://localhost:${server.port}`
    const reference = await (await fetch(`${origin}/docs/api`)).text()
    const groups = [...reference.matchAll(/<h2><a href="([^"]+)"/g)].map(([, path]) => path as string)
    const guides = ['/docs', '/docs/quick-start', '/docs/self-hosting', '/docs/security-model', '/docs/api', ...groups]
    const line = `${process.version}, ${cpus()[0]?.model} × ${cpus().length}, load average ${loadavg()[0]?.toFixed(1)}`
    process.stdout.write(`Node ${line}; 1.6 Mbit/s, 150 ms, processor a quarter; ${rounds} rounds\n`)
    for (const [who, cookie, paths] of [
      ['signed out', '', ['/', '/catalog', '/sign-in', ...guides]],
      ['signed in', server.cookie, [...PAGES, '/settings', '/docs/api']],
    ] as const) {
      const chosen = paths.filter((path) => path.includes(only))
      process.stdout.write(`${who.padEnd(34)} first paint ms  page bytes\n`)
      for (const [path, { firstPaintMs, pageBytes }] of await firstPaints({ origin, cookie }, chosen, rounds)) {
        const numbers = [String(Math.round(firstPaintMs)).padStart(14), String(pageBytes).padStart(10)]
        process.stdout.write(`${path.padEnd(34)} ${numbers.join('  ')}\n`)
      }
    }
  } finally {
    server.child.kill()
  }
}

interface Server extends Ready {
  child: ChildProcess
}

async function start(name: string): Promise<Server> {
  const child = fork(import.meta.filename, [name], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const [ready] = (await once(child, 'message')) as [Ready]
  return { child, ...ready }
}

interface Times {
  p50: number
  p95: number
  /** The server's CPU time per request. */
  cpu: number
}

async function cpuMs(child: ChildProcess): Promise<number> {
  child.send('cpu')
  const [{ user, system }] = (await once(child, 'message')) as [NodeJS.CpuUsage]
  return (user + system) / 1000
}

async function measure({ child, port, cookie }: Server, path: string, requests: number): Promise<Times> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  const before = await cpuMs(child)
  for (let request = 0; request < requests; request++) {
    times.push(
      await new Promise<number>((done, fail) => {
        const began = performance.now()
        const headers = { host: `localhost:${port}`, cookie }
        get({ host: '127.0.0.1', port, path, agent, headers }, (response) => {
          response.once('data', () => {
            const took = performance.now() - began
            response.once('end', () =>
              response.statusCode === 200 ? done(took) : fail(new Error(`${path}: ${response.statusCode}`)),
            )
          })
          response.resume()
        }).on('error', fail)
      }),
    )
  }
  agent.destroy()
  const cpu = ((await cpuMs(child)) - before) / requests
  times.sort((a, b) => a - b)
  return { p50: times[Math.floor(requests / 2)] ?? 0, p95: times[Math.floor(requests * 0.95)] ?? 0, cpu }
}

async function serveGameyard(): Promise<void> {
  const { app, port } = await createPlatform({ silent: true })
  const { id } = await app.identity.players.createByHost(ACCOUNT, 'admin')
  await app.db.transaction(async (em) => {
    const now = app.clock.now()
    const columns =
      await em.execute<{ name: string; notnull: number; type: string; pk: number }[]>('pragma table_info(players)')
    for (let number = 0; number < PLAYERS; number++) {
      const values = columns.map(({ name, notnull, type }) => {
        if (name === 'id') return newId('ply', now)
        if (name === 'name') return `Player ${number}`
        if (name === 'email') return `player${number}@example.org`
        if (name === 'created_at') return now.getTime()
        return notnull ? (type === 'text' ? '' : 0) : null
      })
      const marks = columns.map(() => '?').join(', ')
      const names = columns.map(({ name }) => `\`${name}\``).join(', ')
      await em.execute(`insert into players (${names}) values (${marks})`, values, 'run')
    }
  })
  for (let number = 0; number < GAMES; number++) {
    const tags = [`tag-${number % 40}`]
    const ownerId = id
    await app.games.create(ownerId, {
      title: `Game ${number}`,
      description: 'A game.',
      tags,
      url: 'https://elsewhere.example',
    })
  }
  await app.listen({ host: '127.0.0.1', port })
  const answer = await fetch(`http://localhost:${port}/api/auth/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: `http://localhost:${port}` },
    body: JSON.stringify({ email: ACCOUNT.email, password: ACCOUNT.password }),
  })
  const cookie = answer.headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ')
  process.send?.({ port, cookie })
}

async function serveBare(): Promise<void> {
  const app = Fastify()
  const page = `<!doctype html><title>page</title>${'<p>line of text</p>'.repeat(PAGE_BYTES / 19)}`
  app.get('/', async (_request, reply) => reply.type('text/html; charset=utf-8').send(page))
  await app.listen({ host: '127.0.0.1', port: 0 })
  process.send?.({ port: (app.server.address() as { port: number }).port, cookie: '' })
}

const [role, only = '', text = ''] = process.argv.slice(2)
process.on('message', () => process.send?.(process.cpuUsage()))
if (role === 'gameyard') await serveGameyard()
else if (role === 'bare') await serveBare()
else if (role === 'paint') await paint(Number(only || 3), text)
else await run(Number(role ?? 300), only)

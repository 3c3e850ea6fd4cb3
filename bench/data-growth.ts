/**
 * Measures a platform with three years of data: the size of the database, whether periodic jobs delay requests, and how
 * soon it starts and answers compared with a platform with one month of data and thirty games.
 *
 *     npx node bench/data-growth.ts [months]
 *
 * 5,000 players, 2,000 games, a million plays, half of them with a sign-in, 200 deploys a day and 200,000 Blender jobs;
 * a few minutes. KEEP names a folder to leave the platform in.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { freePort } from '../test/kit/server.ts'
import { ask } from '../test/kit/upload.ts'
import { machine, median } from './servers.ts'
import { type Size, simulateHistory } from './simulated-history.ts'

const months = Number(process.argv[2] ?? 36)
const part = months / 36
const OLD: Size = {
  months,
  players: 5000,
  games: 2000,
  plays: 1_000_000 * part,
  deploysADay: 200,
  blenderJobs: 200_000 * part,
}
const NEW: Size = { months: 1, players: 50, games: 40, plays: 300, deploysADay: 2, blenderJobs: 30 }
const STARTS = 7
const REQUESTS = 60
const PAGES = [
  '/',
  '/catalog',
  '/catalog?q=game',
  '/catalog?sort=popular',
  '/games',
  '/games/game-7-of-the-platform/overview',
  '/admin',
  '/admin/games',
]

const work = mkdtempSync(join(process.env.KEEP ?? tmpdir(), 'gameyard-data-growth-'))
try {
  process.stdout.write(`${machine()}\n`)
  const platforms = []
  for (const [name, size] of [
    ['old', OLD],
    ['new', NEW],
  ] as const)
    platforms.push(await make(name, size))
  await compare(platforms as [Platform, Platform])
} finally {
  if (!process.env.KEEP) rmSync(work, { recursive: true, force: true })
}

interface Platform {
  name: string
  folder: string
  account: { email: string; password: string }
}

async function make(name: string, size: Size): Promise<Platform> {
  const folder = join(work, name)
  mkdirSync(folder)
  const config = 'blender: { driver: none }\nlimits: { rateLimits: false }\nlog: { level: warn }\n'
  writeFileSync(join(folder, 'gameyard.yaml'), config)
  const { app, account, written, holds } = await simulateHistory(folder, size, (line) =>
    process.stdout.write(`${name}: ${line}\n`),
  )
  const tables = await app.db
    .query<{ name: string; bytes: number }>(
      'select name, sum(pgsize) as bytes from dbstat group by name order by bytes desc limit 12',
    )
    .catch(() => [])
  await app.close()
  const bytes = statSync(join(folder, 'data/gameyard.db')).size
  process.stdout.write(`${name}: ${written} rows written, database ${(bytes / 1e6).toFixed(0)} MB\n`)
  for (const table of tables) process.stdout.write(`  ${table.name}: ${(table.bytes / 1e6).toFixed(1)} MB\n`)
  for (const { cpuMs, ms, what } of holds.slice(0, 8))
    process.stdout.write(`  writer held for ${cpuMs.toFixed(1)} ms of processor (${ms.toFixed(1)} ms): ${what}\n`)
  return { name, folder, account }
}

interface Running extends Platform {
  child: ChildProcess
  port: number
  readyMs: number
}

async function start(platform: Platform): Promise<Running> {
  const port = await freePort()
  const began = performance.now()
  const program = resolve(import.meta.dirname, '../bin/gameyard.js')
  const child = spawn(process.execPath, [program, 'serve', '--port', String(port)], {
    cwd: platform.folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  while (!(await ask('GET', `http://127.0.0.1:${port}/healthz`).catch(() => null))) await sleep(10)
  return { ...platform, child, port, readyMs: performance.now() - began }
}

async function stop({ child }: Running): Promise<void> {
  child.kill('SIGTERM')
  await once(child, 'exit')
}

/**
 * Measures both alternately, so that other load on the machine affects both equally. A ratio is the median of the
 * ratios of the rounds.
 */
async function compare([old, young]: [Platform, Platform]): Promise<void> {
  const starts: number[] = []
  for (let round = 0; round < STARTS; round++) {
    const [one, other] = [await start(old), await start(young)]
    starts.push(one.readyMs / other.readyMs)
    await Promise.all([stop(one), stop(other)])
  }
  line('start', starts)
  const [one, other] = [await start(old), await start(young)]
  try {
    // The background work after a start must finish first, because the comparison of pages is for idle servers.
    for (const { folder } of [one, other]) await periodicJobsDone(folder)
    const cookies = [await signIn(one), await signIn(other)]
    for (const path of PAGES) {
      const times: number[] = []
      for (let round = 0; round < REQUESTS; round++) {
        const [a, b] = [await page(one, path, cookies[0]), await page(other, path, cookies[1])]
        if (round >= 10) times.push(a / b)
      }
      line(path, times)
    }
    const signIns: number[] = []
    for (let round = 0; round < 20; round++)
      signIns.push((await timed(() => signIn(one))) / (await timed(() => signIn(other))))
    line('sign-in', signIns)
  } finally {
    await Promise.all([stop(one), stop(other)])
  }
}

/** Waits until no periodic job runs or is due, at most two minutes. */
async function periodicJobsDone(folder: string): Promise<void> {
  const database = new Sqlite(join(folder, 'data/gameyard.db'), { readonly: true })
  try {
    const due = database.prepare(
      `select 1 from background_jobs where "key" = 'every' and (state <> 'queued' or due_at <= ?)`,
    )
    for (const until = Date.now() + 120_000; due.get(Date.now()) && Date.now() < until; ) await sleep(100)
  } finally {
    database.close()
  }
}

function line(name: string, ratios: number[]): void {
  process.stdout.write(`${name.padEnd(36)} ${median(ratios).toFixed(2)} of the new one's\n`)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

function page({ port }: Running, path: string, cookie = ''): Promise<number> {
  return timed(async () => {
    const { status } = await ask('GET', `http://localhost:${port}${path}`, { headers: { cookie } })
    if (status !== 200) throw new Error(`${path}: ${status}`)
  })
}

async function signIn({ port, account: { email, password } }: Running): Promise<string> {
  const origin = `http://localhost:${port}`
  const { status, headers } = await ask('POST', `${origin}/api/auth/sign-in`, {
    headers: { origin },
    body: { email, password },
  })
  if (status !== 200) throw new Error(`sign-in: ${status}`)
  return String([headers['set-cookie']].flat()[0]).split(';', 1)[0] as string
}

// `npx node bench/moving.ts`: `gameyard move` of a platform that serves and is written to, from SQLite to another SQLite
// file: for how long changes are refused, how long the whole takes, and how much memory the command uses. ROWS, MB and
// FILES make it larger.
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { freePort } from '../test/kit/server.ts'

const ROWS = Number(process.env.ROWS ?? 40_000)
const MB = Number(process.env.MB ?? 40)
const FILES = Number(process.env.FILES ?? 500)
const program = resolve(import.meta.dirname, '../bin/gameyard.js')
const work = mkdtempSync(join(tmpdir(), 'gameyard-moving-'))
const env = { PATH: process.env.PATH, NODE_ENV: 'production', SERVICE_LIMITS__RATE_LIMITS: 'false' }

const start = (...arguments_: string[]) =>
  spawn(process.execPath, [program, ...arguments_], { cwd: work, env, stdio: ['ignore', 'pipe', 'ignore'] })

async function serve() {
  const port = await freePort()
  const portal = `http://localhost:${port}`
  const child = start('serve', '--port', String(port))
  child.stdout.resume()
  const isReady = () => fetch(`${portal}/readyz`).then(({ status }) => status === 200)
  while (!(await isReady().catch(() => false))) await sleep(20)
  const stop = async () => {
    child.kill('SIGTERM')
    await new Promise((done) => child.once('exit', done))
  }
  return { portal, stop }
}

/** Fills four tables of different shapes. */
function fillTables(): void {
  const database = new Sqlite(join(work, 'data/gameyard.db'))
  database.pragma('synchronous = off')
  database.pragma('foreign_keys = off')
  const now = Date.now()
  const id = (prefix: string, index: number) => `${prefix}_${index.toString(36).toUpperCase().padStart(26, '0')}`
  const tables: [string, (index: number) => unknown[]][] = [
    [
      'insert into audit values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      (index) => [
        id('aud', index),
        id('ply', index % 5000),
        'admin',
        'game.suspend',
        'game',
        id('gam', index % 900),
        'It copies another game.',
        '{"suspended":null}',
        `{"suspended":{"reason":"${index}"}}`,
        now - index,
      ],
    ],
    [
      'insert into saves values (?, ?, ?, ?, ?, ?, ?, ?, ?)',
      (index) => [
        id('gam', index % 900),
        id('ply', index),
        'slot-1',
        1,
        2000,
        'application/json',
        now - index,
        null,
        null,
      ],
    ],
    [
      'insert into credit_ledger values (?, ?, ?, ?, ?, ?, ?)',
      (index) => [
        id('led', index),
        id('ply', index % 5000),
        -7,
        'generation',
        'An image',
        `generation/${id('gen', index)}`,
        now - index,
      ],
    ],
    [
      'insert into owner_blobs values (?, ?)',
      (index) => [id('ply', index % 5000), createHash('sha256').update(String(index)).digest('hex')],
    ],
  ]
  for (const [sql, row] of tables) {
    const insert = database.prepare(sql)
    database.transaction(() => {
      for (let index = 0; index < ROWS / tables.length; index++) insert.run(...row(index))
    })()
  }
  database.close()
}

function fillBlobs(): void {
  const size = Math.floor((MB * 1_000_000) / FILES)
  const bytes = randomBytes(size)
  for (let index = 0; index < FILES; index++) {
    bytes.writeUInt32LE(index)
    const digest = createHash('sha256').update(bytes).digest('hex')
    const folder = join(work, 'data/blobs/blobs', digest.slice(0, 2))
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, digest), bytes)
  }
}

/** Signs players up, one after another, until it is stopped. */
function writeLoad(portal: string) {
  let running = true
  let [accepted, refused] = [0, 0]
  const loop = (async () => {
    while (running) {
      const body = JSON.stringify({
        email: `b${accepted}@example.org`,
        password: 'correct yard battery',
        name: 'Bench',
      })
      const headers = { origin: portal, 'content-type': 'application/json' }
      const { ok } = await fetch(`${portal}/api/auth/sign-up`, { method: 'POST', headers, body })
      if (ok) accepted++
      else refused++
      await sleep(50)
    }
  })()
  return {
    async stop() {
      running = false
      await loop
      return { accepted, refused }
    },
  }
}

/** Returns the highest resident memory of a process so far, in MB. */
function peakMemory(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

async function move(target: string) {
  writeFileSync(join(work, target), `dataDir: ./${target}-data\nlisten: { port: ${await freePort()} }\n`)
  const child = start('move', '--to', target, '--json')
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  let memory = 0
  const watch = setInterval(() => {
    memory = Math.max(memory, peakMemory(child.pid as number))
  }, 20)
  const began = performance.now()
  const code = await new Promise((done) => child.once('close', done))
  clearInterval(watch)
  if (code !== 0) throw new Error(`the move ended with ${code}`)
  return { ...(JSON.parse(text) as { rows: number; blobs: number; bytes: number; stoppedMs: number }), memory, began }
}

try {
  writeFileSync(join(work, 'gameyard.yaml'), 'dataDir: ./data\n')
  await (await serve()).stop()
  fillTables()
  fillBlobs()
  const { portal, stop } = await serve()
  const load = writeLoad(portal)
  const { rows, blobs, bytes, stoppedMs, memory, began } = await move('target.yaml')
  const took = performance.now() - began
  const { accepted, refused } = await load.stop()
  await stop()
  console.log(
    `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus()[0]?.model} × ${cpus().length}, load average ${loadavg()[0]?.toFixed(1)}`,
  )
  console.log(
    `${rows} rows, ${blobs} files with ${(bytes / 1e6).toFixed(0)} MB: ${(took / 1000).toFixed(1)} s, of which changes were refused for ${(stoppedMs / 1000).toFixed(1)} s; ${memory.toFixed(0)} MB of memory; ${accepted} accounts made meanwhile, ${refused} refused`,
  )
} finally {
  rmSync(work, { recursive: true, force: true })
}

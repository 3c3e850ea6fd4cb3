// The memory of `gameyard move`, which does not grow with what is moved. bench/moving.ts measures a million rows.
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { stringify } from 'yaml'
import { startServer } from '../kit/server.ts'
import { start, temporaryFolder } from './program.ts'

const MAX_MB = 200
const ROWS = 40_000
const BLOBS = 150
const BLOB_BYTES = 2_000_000

function fill(dataDir: string): void {
  const database = new DatabaseSync(join(dataDir, 'gameyard.db'))
  const insert = database.prepare(
    "insert into audit values (?, 'host', 'host', 'game.suspend', 'game', ?, 'It copies another game.', ?, ?, ?)",
  )
  database.exec('begin')
  for (let index = 0; index < ROWS; index++) {
    const id = String(index).padStart(26, '0')
    insert.run(`aud_${id}`, `gam_${id}`, '{"suspended":null}', `{"suspended":{"reason":"${index}"}}`, index)
  }
  database.exec('commit')
  database.close()
  const bytes = randomBytes(BLOB_BYTES)
  for (let index = 0; index < BLOBS; index++) {
    bytes.writeUInt32LE(index)
    const digest = createHash('sha256').update(bytes).digest('hex')
    const folder = join(dataDir, 'blobs/blobs', digest.slice(0, 2))
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, digest), bytes)
  }
}

/** Returns the highest resident memory of a process so far, in MB; 0 after its end. */
function peakMemory(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

const linuxOnly = { skip: process.platform !== 'linux' && 'the memory of a process is read from /proc' }

t.test(`a move takes less than ${MAX_MB} MB, however much it moves`, linuxOnly, async (t) => {
  const folder = temporaryFolder(t)
  const server = await startServer(t, { folder, config: { blender: { driver: 'none' } } })
  await server.stop()
  fill(join(folder, 'data'))
  writeFileSync(join(folder, 'target.yaml'), stringify({ dataDir: './target' }))
  const move = start(t, ['move', '--to', 'target.yaml', '--json'], { cwd: folder })
  let peak = 0
  let running = true
  const ended = move.ended.finally(() => {
    running = false
  })
  while (running) {
    peak = Math.max(peak, peakMemory(move.process.pid as number))
    await sleep(20)
  }
  const { code, stdout, stderr } = await ended
  t.equal(code, 0, stderr)
  t.match(JSON.parse(stdout), { blobs: BLOBS, bytes: BLOBS * BLOB_BYTES })
  t.ok(JSON.parse(stdout).rows >= ROWS)
  t.comment(`${peak.toFixed(0)} MB`)
  t.ok(peak > 50 && peak < MAX_MB, `${peak.toFixed(0)} MB`)
})

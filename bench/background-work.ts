/**
 * Measures response times of a page and `whoami` while the server hashes passwords, compresses deploys and runs
 * successive Blender jobs in the background, compared with the same server when idle.
 *
 *     npx node bench/background-work.ts [seconds]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeToken } from '../test/kit/remote-sign-up.ts'
import { freePort } from '../test/kit/server.ts'
import { ask } from '../test/kit/upload.ts'
import { MixedLoad } from './mixed-load.ts'
import { machine } from './servers.ts'

const seconds = Number(process.argv[2] ?? 60)
/** Deploys and sign-ups per second. */
const RATE = 4
/** The pause between two measured requests. */
const PAUSE_MS = 20
const JOB = { name: 'A chest', template: 'prop', parameters: { kind: 'chest', size: 2 } }

const folder = mkdtempSync(join(tmpdir(), 'gameyard-background-'))
const port = await freePort()
const portal = `http://localhost:${port}`
writeFileSync(
  join(folder, 'gameyard.yaml'),
  `listen: { port: ${port} }\nlimits: { rateLimits: false }\nlog: { level: warn }\nblender: { capacity: 1, threads: 1 }\n`,
)
const program = resolve(import.meta.dirname, '../bin/gameyard.js')
const server = spawn(process.execPath, [program, 'serve'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
try {
  while ((await ask('GET', `${portal}/readyz`).catch(() => null))?.status !== 200) await sleep(50)
  const token = await makeToken(portal, ['assets:read', 'assets:generate'])
  const load = new MixedLoad(portal, ['deploy', 'account'])
  await load.begin()
  process.stdout.write(`${machine()}; ${seconds} s\n`)
  await sleep(10_000)
  report('at rest', await measure(token, AbortSignal.timeout(seconds * 1000)))
  const background = new AbortController()
  const jobs = runJobs(token, background.signal)
  const changes = load.run(RATE, seconds * 1000)
  report('with background work', await measure(token, AbortSignal.timeout(seconds * 1000)))
  background.abort()
  await changes
  process.stdout.write(`${await jobs} Blender jobs, ${JSON.stringify(load.counts)}\n`)
} finally {
  server.kill('SIGTERM')
  await once(server, 'exit')
  rmSync(folder, { recursive: true, force: true })
}

/** @returns the number of completed jobs */
async function runJobs(token: string, signal: AbortSignal): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const jobs = `${portal}/api/blender/v1/jobs`
  let completed = 0
  while (!signal.aborted) {
    const answer = await fetch(jobs, { method: 'POST', headers, body: JSON.stringify(JOB) })
    const { id } = (await answer.json()) as { id: string }
    // The stream ends with the job.
    const events = await (await fetch(`${jobs}/${id}/events`, { headers })).text()
    if (!events.includes('"completed"')) throw new Error(`The job ended so: ${events.slice(-300)}`)
    completed++
  }
  return completed
}

/** Sends sequential requests, alternating between the two kinds. @returns ms of each */
async function measure(token: string, signal: AbortSignal): Promise<Record<'page' | 'whoami', number[]>> {
  const times: Record<'page' | 'whoami', number[]> = { page: [], whoami: [] }
  const headers = { authorization: `Bearer ${token}` }
  while (!signal.aborted) {
    times.page.push(await timed(() => ask('GET', `${portal}/catalog`)))
    times.whoami.push(await timed(() => ask('GET', `${portal}/api/cli/whoami`, { headers })))
    await sleep(PAUSE_MS)
  }
  return times
}

async function timed(work: () => Promise<{ status: number }>): Promise<number> {
  const began = performance.now()
  const { status } = await work()
  if (status !== 200) throw new Error(`The answer was ${status}.`)
  return performance.now() - began
}

function report(name: string, times: Record<string, number[]>): void {
  for (const [what, values] of Object.entries(times)) {
    const sorted = values.toSorted((a, b) => a - b)
    const at = (part: number) => sorted[Math.floor(sorted.length * part)]?.toFixed(1)
    process.stdout.write(
      `${name}, ${what}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms of ${sorted.length}; load average ${loadavg()[0]?.toFixed(1)}\n`,
    )
  }
}

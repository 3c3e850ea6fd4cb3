/**
 * Detects leaks: measures resident memory and descriptors of the program during sign-ups, deploys, rooms, page reads
 * and token creation, and after a rest.
 *
 *     npx node bench/soak.ts [seconds] [seconds of rest]
 *
 * Writes a line every ten seconds, and at the end the values of each third of the time. RATE is operations per second
 * (800), ONLY limits their kinds (`page,room`), FLAGS are additional flags for Node.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../test/kit/server.ts'
import { ask } from '../test/kit/upload.ts'
import { descriptorsOf, MixedLoad, residentMb } from './mixed-load.ts'
import { machine, median } from './servers.ts'

const [seconds = 120, rest = 60] = process.argv.slice(2).map(Number)
const rate = Number(process.env.RATE ?? 800)
const root = resolve(import.meta.dirname, '..')

const folder = mkdtempSync(join(tmpdir(), 'gameyard-soak-'))
const port = await freePort()
writeFileSync(
  join(folder, 'gameyard.yaml'),
  `listen: { port: ${port} }\nlimits: { rateLimits: false }\nlog: { level: warn }\nblender: { driver: none }\n`,
)
const malloc = Object.entries(process.env).filter(([name]) => name.startsWith('MALLOC_'))
const env = { PATH: process.env.PATH, NODE_OPTIONS: process.env.FLAGS ?? '', ...Object.fromEntries(malloc) }
const server = spawn(process.execPath, [join(root, 'bin/gameyard.js'), 'serve'], {
  cwd: folder,
  env,
  stdio: ['ignore', 'ignore', 'inherit'],
})
try {
  await run(server)
} finally {
  server.kill('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
}

async function run({ pid = 0 }: ChildProcess): Promise<void> {
  const portal = `http://localhost:${port}`
  while (!(await ask('GET', `${portal}/healthz`).catch(() => null))) await sleep(50)
  await sleep(10_000)
  const idle = residentMb(pid)
  process.stdout.write(`${machine()}; ${seconds} s at ${rate} operations a second\n`)
  process.stdout.write(`idle: ${idle} MB, ${descriptorsOf(pid)} descriptors\n`)
  const life = new MixedLoad(portal, process.env.ONLY?.split(','))
  await life.begin()
  const memory: number[] = []
  const descriptors: number[] = []
  const began = performance.now()
  const busy = life.run(rate, seconds * 1000)
  for (let second = 1; second <= seconds; second++) {
    await sleep(began + second * 1000 - performance.now())
    memory.push(residentMb(pid))
    descriptors.push(descriptorsOf(pid))
    if (second % 10 === 0)
      process.stdout.write(`${second} s: ${memory.at(-1)} MB, ${descriptors.at(-1)} descriptors, ${life.done} done\n`)
  }
  await busy
  const third = Math.floor(seconds / 3)
  const thirds = [0, 1, 2].map((part) => median(memory.slice(part * third, (part + 1) * third)))
  process.stdout.write(`thirds: ${thirds.join(', ')} MB; most ${Math.max(...memory)} MB\n`)
  process.stdout.write(
    `descriptors: ${[0, 1, 2].map((part) => median(descriptors.slice(part * third, (part + 1) * third))).join(', ')}\n`,
  )
  process.stdout.write(`operations: ${JSON.stringify(life.counts)}\n`)
  for (let second = 10; second <= rest; second += 10) {
    await sleep(10_000)
    process.stdout.write(`rest ${second} s: ${residentMb(pid)} MB, ${descriptorsOf(pid)} descriptors\n`)
  }
  process.stdout.write(`after the rest: ${(residentMb(pid) / idle).toFixed(2)} of idle\n`)
}

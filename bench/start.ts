// `npx node bench/start.ts [--binary]`: time from spawn to the first 200, and memory when idle, of the platform from source
// (and of dist/gameyard), compared with Fastify's bare hello-world started the same way in the same run; then the time
// of `--help`, compared with a Node that does nothing.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { cpus, release, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const root = resolve(import.meta.dirname, '..')
const RUNS = Number(process.env.RUNS ?? 7)
const SETTLE_MS = 6000 // The program releases the memory of its start after two seconds.

const hello = `import Fastify from ${JSON.stringify(join(root, 'node_modules/fastify/fastify.js'))}
const app = Fastify()
app.get('/healthz', async () => ({ status: 'ok' }))
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })`

const freePort = () =>
  new Promise<number>((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => done(port))
    })
  })

const answers = (port: number) =>
  new Promise<boolean>((done) => {
    get({ host: '127.0.0.1', port, path: '/healthz' }, (response) => {
      response.resume()
      done(response.statusCode === 200)
    }).on('error', () => done(false))
  })

/** Starts a command in an empty folder. Returns the ms to the first 200 and the resident MB when idle. */
async function measure(command: string, args: (port: number, folder: string) => string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-bench-'))
  const port = await freePort()
  const env = { PATH: process.env.PATH, PORT: String(port), NODE_ENV: 'production' }
  const began = performance.now()
  const child = spawn(command, args(port, folder), { cwd: folder, env, stdio: 'ignore' })
  try {
    while (!(await answers(port))) {
      if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`)
      await sleep(4)
    }
    const firstMs = performance.now() - began
    await sleep(SETTLE_MS)
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
    return { firstMs, rssMb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024 }
  } finally {
    child.kill('SIGTERM')
    await new Promise((done) => child.once('exit', done))
    rmSync(folder, { recursive: true, force: true })
  }
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number

const helloFile = join(mkdtempSync(join(tmpdir(), 'gameyard-hello-')), 'hello.mjs')
writeFileSync(helloFile, hello)
const serve = (port: number, folder: string) => ['serve', '--port', String(port), '--data', join(folder, 'data')]
const subjects: [string, string, (port: number, folder: string) => string[]][] = [
  ['Fastify hello-world', process.execPath, () => [helloFile]],
  ['Gameyard from source', process.execPath, (...at) => [join(root, 'bin/gameyard.js'), ...serve(...at)]],
]
const binary = join(root, 'dist/gameyard')
if (existsSync(binary)) subjects.push(['Gameyard binary', binary, serve])

const results = new Map(subjects.map(([name]) => [name, [] as { firstMs: number; rssMb: number }[]]))
for (let run = 0; run < RUNS; run++) {
  for (const [name, command, args] of subjects) results.get(name)?.push(await measure(command, args))
}

console.log(
  `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus()[0]?.model} × ${cpus().length}, ${release()}`,
)
console.log('| | first 200, median (min–max) ms | idle RSS, median MB | to hello-world |')
console.log('|---|---|---|---|')
const base = results.get('Fastify hello-world') ?? []
for (const [name, runs] of results) {
  const times = runs.map((run) => run.firstMs)
  const ms = median(times)
  const rss = median(runs.map((run) => run.rssMb))
  const ratio = `${(ms / median(base.map((run) => run.firstMs))).toFixed(1)}× time, ${(rss / median(base.map((run) => run.rssMb))).toFixed(1)}× memory`
  console.log(
    `| ${name} | ${ms.toFixed(0)} (${Math.min(...times).toFixed(0)}–${Math.max(...times).toFixed(0)}) | ${rss.toFixed(0)} | ${ratio} |`,
  )
}

const helps: [string, string, string[]][] = [
  ['node -e 0', process.execPath, ['-e', '0']],
  ['gameyard deploy --help, from source', process.execPath, [join(root, 'bin/gameyard.js'), 'deploy', '--help']],
]
if (existsSync(binary)) helps.push(['gameyard deploy --help, binary', binary, ['deploy', '--help']])
const waits = new Map(helps.map(([name]) => [name, [] as number[]]))
for (let run = 0; run < RUNS * 3; run++) {
  for (const [name, command, args] of helps) {
    const began = performance.now()
    spawnSync(command, args, { env: { PATH: process.env.PATH } })
    waits.get(name)?.push(performance.now() - began)
  }
}
console.log('\n| | median (min–max) ms | to bare Node |')
console.log('|---|---|---|')
const bare = median(waits.get('node -e 0') ?? [])
for (const [name, times] of waits) {
  const ms = median(times)
  const range = `${Math.min(...times).toFixed(0)}–${Math.max(...times).toFixed(0)}`
  console.log(`| ${name} | ${ms.toFixed(0)} (${range}) | ${(ms / bare).toFixed(1)}× |`)
}

// `npx node bench/edge.ts`: how fast a game's origin serves files, compared with nginx (one worker, sendfile), a bare
// node:http server that writes prepared buffers, and @fastify/static. Each server is one process on one core, with wrk
// on another. The servers run in turn in many short rounds, so that other load on the machine affects all of them
// equally; a ratio is the median of the ratios of the rounds. Beside requests a second the result lists requests for
// each second of the server's processor time, which a busy machine disturbs far less. Needs Debian's nginx and wrk.
// ROUNDS, SECONDS, WARM_UP_SECONDS and CASES (names, comma-separated) come from the environment.
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, constants } from 'node:zlib'
import { freePort } from '../test/kit/server.ts'
import { ask, deployFolder } from '../test/kit/upload.ts'
import { load, machine, median, nginxConfig, processorSeconds, type Subject, start, stopAll } from './servers.ts'

const ROUNDS = Number(process.env.ROUNDS ?? 11)
const SECONDS = Number(process.env.SECONDS ?? 1)
/** The warm-up per case and server, because V8 compiles a large program later than a small one. */
const WARM_UP_SECONDS = Number(process.env.WARM_UP_SECONDS ?? 10)
/** The time limit for our server to become idle after the deploy. */
const REST_SECONDS = Number(process.env.REST_SECONDS ?? 240)
const root = resolve(import.meta.dirname, '..')
const work = mkdtempSync(join(tmpdir(), 'gameyard-bench-edge-'))

/**
 * Creates a typical build: a page, a bundle of text that compresses to a quarter, and an engine that does not compress.
 */
function makeBuild(): { folder: string; bundle: Buffer; compressed: Buffer } {
  const folder = join(work, 'build')
  mkdirSync(folder)
  const page = `<!doctype html><html><head><title>Bench</title></head><body>${'<p>a game</p>'.repeat(150)}</body></html>`
  writeFileSync(join(folder, 'index.html'), `${page.slice(0, 2048 - 14).padEnd(2048 - 14, ' ')}</body></html>`)
  const words = Array.from({ length: 3000 }, () => randomBytes(3).toString('hex'))
  let text = ''
  for (let at = 0; text.length < 200 * 1024; at = (at * 31 + 7) % 2999)
    text += `const ${words[at]} = ${words[(at * 7) % 3000]};\n`
  const bundle = Buffer.from(text.slice(0, 200 * 1024))
  writeFileSync(join(folder, 'bundle.js'), bundle)
  const compressed = brotliCompressSync(bundle, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })
  writeFileSync(join(folder, 'engine.wasm'), randomBytes(20 * 1024 * 1024))
  return { folder, bundle, compressed }
}

async function gameyard(build: string): Promise<Subject> {
  const port = await freePort()
  const data = join(work, 'data')
  writeFileSync(
    join(work, 'gameyard.yaml'),
    `listen: { port: ${port} }\nlimits: { rateLimits: false }\nlog: { level: warn }\n`,
  )
  const pid = await start(process.execPath, [join(root, 'bin/gameyard.js'), 'serve', '--data', data], {
    port,
    cwd: work,
  })
  const portal = `http://localhost:${port}`
  const account = { email: 'bench@example.org', password: 'correct yard battery fence', name: 'Bench' }
  const json = { origin: portal }
  const signedUp = await ask('POST', `${portal}/api/auth/sign-up`, { headers: json, body: account })
  const cookie = String([signedUp.headers['set-cookie']].flat()[0]).split(';')[0] as string
  const scopes = ['games:write', 'games:read', 'deployments:write']
  const minted = await ask('POST', `${portal}/api/tokens`, {
    headers: { ...json, cookie },
    body: { label: 'bench', scopes },
  })
  const { token } = minted.body
  const headers = { authorization: `Bearer ${token}` }
  const game = await ask('POST', `${portal}/api/games`, { headers, body: { title: 'Bench', description: 'Bench.' } })
  await deployFolder(portal, token, game.body.id, build)
  return { name: 'Gameyard', pid, port, host: new URL(game.body.url).host }
}

async function nginx(build: string): Promise<Subject> {
  const port = await freePort()
  const folder = join(work, 'nginx')
  mkdirSync(folder)
  const file = join(folder, 'nginx.conf')
  writeFileSync(
    file,
    nginxConfig(
      folder,
      `map $http_accept_encoding $suffix { default ''; ~br .br; }
       server { listen 127.0.0.1:${port}; root ${build}; server_name bench.localhost;
         location = /bundle.js { add_header Vary Accept-Encoding; try_files $uri$suffix $uri =404; }
         location ~ [.]br$ { types {} default_type text/javascript; add_header Content-Encoding br; add_header Vary Accept-Encoding; } }`,
    ),
  )
  const pid = await start('nginx', ['-c', file], { port, cwd: work })
  return { name: 'nginx', pid, port, host: 'bench.localhost' }
}

async function script(name: string, source: string): Promise<Subject> {
  const port = await freePort()
  const file = join(work, `${name.replaceAll(/\W/g, '-')}.mjs`)
  writeFileSync(file, source)
  const pid = await start(process.execPath, [file], { port, cwd: work })
  return { name, pid, port, host: 'bench.localhost' }
}

const BARE = (build: string) => `import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
const read = (path) => readFileSync(${JSON.stringify(build)} + path)
const answer = (body, type, coding) => ({ body, etag: '"' + body.length + (coding ?? '') + '"', head: ['content-type', type,
  'cache-control', 'no-cache', 'x-content-type-options', 'nosniff', 'accept-ranges', 'bytes', 'etag', '"' + body.length + (coding ?? '') + '"',
  ...(coding ? ['content-encoding', coding] : []), 'content-length', String(body.length)] })
const page = answer(read('/index.html'), 'text/html; charset=utf-8')
const files = new Map([['/', page], ['/index.html', page], ['/bundle.js', answer(read('/bundle.js'), 'text/javascript')],
  ['/engine.wasm', answer(read('/engine.wasm'), 'application/wasm')]])
const compressed = answer(read('/bundle.js.br'), 'text/javascript', 'br')
createServer((request, response) => {
  const file = request.headers['accept-encoding'] ? compressed : files.get(request.url)
  if (request.headers['if-none-match']) return response.writeHead(304, ['etag', file.etag, 'cache-control', 'no-cache']).end()
  response.writeHead(200, file.head)
  response.end(file.body)
}).listen(process.env.PORT, '127.0.0.1')`

const STATIC = (build: string) => `import Fastify from ${JSON.stringify(import.meta.resolve('fastify'))}
import serve from ${JSON.stringify(import.meta.resolve('@fastify/static'))}
const app = Fastify()
app.register(serve, { root: ${JSON.stringify(build)}, preCompressed: true })
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })`

interface Case {
  name: string
  path: string
  connections: number
  headers?: (subject: Subject) => Promise<string[]>
}

const CASES: Case[] = [
  { name: '2 KB HTML', path: '/', connections: 32 },
  { name: '200 KB JS', path: '/bundle.js', connections: 32 },
  { name: '200 KB JS, br', path: '/bundle.js', connections: 32, headers: async () => ['Accept-Encoding: br'] },
  { name: '20 MB wasm', path: '/engine.wasm', connections: 8 },
  {
    name: '304 of 200 KB JS',
    path: '/bundle.js',
    connections: 32,
    headers: async ({ name, port, host }) => {
      const asked = ask('GET', `http://127.0.0.1:${port}/bundle.js`, { headers: { host } })
      const { headers } = await asked.catch((cause) => {
        throw new Error(`${name} does not say its entity tag`, { cause })
      })
      return [`If-None-Match: ${headers.etag}`]
    },
  },
]

/** Runs one round of a case. */
async function oneRound(subject: Subject, { path, connections, headers }: Case, seconds: number) {
  return load(subject, { path, connections, seconds, headers: (await headers?.(subject)) ?? [] })
}

/** Waits until a server is idle. Ours first compresses the deployed files. */
async function atRest({ pid, port, host }: Subject): Promise<void> {
  for (let second = 0, quiet = 0; second < REST_SECONDS && quiet < 3; second++) {
    const before = processorSeconds(pid)
    await sleep(1000)
    quiet = processorSeconds(pid) - before < 0.05 ? quiet + 1 : 0
  }
  const headers = { host, 'accept-encoding': 'br' }
  const answer = await ask('GET', `http://127.0.0.1:${port}/bundle.js`, { headers })
  if (answer.headers['content-encoding'] !== 'br') console.log('ours has no compressed form of the bundle yet')
}

try {
  const { folder, compressed } = makeBuild()
  const subjects = [await gameyard(folder)]
  // The other servers use the compressed file beside the original; ours compresses after the deploy.
  writeFileSync(join(folder, 'bundle.js.br'), compressed)
  subjects.push(await nginx(folder), await script('bare node:http', BARE(folder)))
  try {
    subjects.push(await script('@fastify/static', STATIC(folder)))
  } catch (error) {
    console.log(`without @fastify/static: ${(error as Error).message}`)
  }
  await atRest(subjects[0] as Subject)
  const cases = CASES.filter(
    ({ name }) => !process.env.CASES || process.env.CASES.split(',').some((one) => name.includes(one)),
  )
  console.log(`${machine()}; median of ${ROUNDS} × ${SECONDS} s`)
  console.log(`| | ${subjects.map(({ name }) => name).join(' | ')} |`)
  console.log(`|---|${subjects.map(() => '---|').join('')}`)
  for (const one of cases) {
    const results = subjects.map(() => [] as Awaited<ReturnType<typeof oneRound>>[])
    for (const subject of subjects) await oneRound(subject, one, WARM_UP_SECONDS)
    for (let round = 0; round < ROUNDS; round++) {
      for (const [index, subject] of subjects.entries()) results[index]?.push(await oneRound(subject, one, SECONDS))
    }
    for (const [unit, key] of [
      ['requests/s', 'requests'],
      ['requests per processor second', 'perSecond'],
    ] as const) {
      const cells = results.map((runs, index) => {
        const rate = median(runs.map((run) => run[key]))
        const pairs = runs.map((run, round) => (results[0]?.[round]?.[key] as number) / run[key])
        const ratio = index === 0 ? '' : ` (ours ${median(pairs).toFixed(2)}×)`
        return `${rate > 1000 ? rate.toFixed(0) : rate.toFixed(1)}${ratio}`
      })
      console.log(`| ${one.name}, ${unit} | ${cells.join(' | ')} |`)
    }
  }
} finally {
  await stopAll()
  rmSync(work, { recursive: true, force: true })
}

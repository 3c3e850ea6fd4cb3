// `npx node bench/deploy.ts`: a build of 2,000 files of 20 KB and one of 500 MB, deployed as `gameyard deploy` does it,
// compared with `sha256sum`, `cp` and `sync` of the same tree in the same run; then again with one file changed. Each run
// starts a new server in an empty folder. FILES, FILE_BYTES, BIG_MB and RUNS make other builds; BUNDLE=no uploads each
// file by itself.
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { cpus, loadavg, release, tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BundleAddress } from '../clients/cli/deploy/bundles.ts'
import { type HashedFile, hashFiles } from '../clients/cli/deploy/hash.ts'
import { sendFiles } from '../clients/cli/deploy/send.ts'
import type { Upload } from '../clients/cli/deploy/upload.ts'
import { freePort } from '../test/kit/server.ts'

const FILES = Number(process.env.FILES ?? 2000)
const FILE_BYTES = Number(process.env.FILE_BYTES ?? 20_480)
const BIG_MB = Number(process.env.BIG_MB ?? 500)
const RUNS = Number(process.env.RUNS ?? 3)
const REDEPLOYS = 7
const root = resolve(import.meta.dirname, '..')
const work = mkdtempSync(join(tmpdir(), 'gameyard-bench-'))
const tree = join(work, 'tree')
const agent = new Agent({ keepAlive: true, maxSockets: 8 })

function makeTree(): string[] {
  const paths = Array.from({ length: FILES - 1 }, (_, index) => `assets/${index % 40}/file-${index}.bin`)
  for (const path of paths) {
    mkdirSync(dirname(join(tree, path)), { recursive: true })
    writeFileSync(join(tree, path), randomBytes(FILE_BYTES))
  }
  writeFileSync(join(tree, 'index.html'), 'x'.repeat(FILE_BYTES))
  const big = Buffer.concat(Array.from({ length: BIG_MB }, () => randomBytes(1_000_000)))
  if (BIG_MB > 0) writeFileSync(join(tree, 'game.pck'), big)
  return ['index.html', ...paths, ...(BIG_MB > 0 ? ['game.pck'] : [])]
}

/** Hashes files of the tree, as any client must. */
const announced = (paths: string[]): Promise<HashedFile[]> =>
  hashFiles(
    paths.map((path) => ({ path, file: join(tree, path), size: statSync(join(tree, path)).size })),
    () => {},
  )

type Answer = { status: number; text: string; cookies: string[] }

function ask(method: string, url: string, headers: Record<string, string>, body?: string) {
  const { port, pathname, search, host } = new URL(url)
  return new Promise<Answer>((done, failed) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        path: pathname + search,
        method,
        agent,
        headers: {
          host,
          ...(typeof body === 'string' ? { 'content-length': String(Buffer.byteLength(body)) } : {}),
          ...headers,
        },
      },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk) => chunks.push(chunk))
        incoming.on('end', () =>
          done({
            status: incoming.statusCode ?? 0,
            text: Buffer.concat(chunks).toString(),
            cookies: incoming.headers['set-cookie'] ?? [],
          }),
        )
      },
    ).on('error', failed)
    outgoing.end(body)
  })
}

/** Starts a server in an empty folder with a game, and returns functions that call it. */
async function startServer() {
  const folder = mkdtempSync(join(work, 'server-'))
  const port = await freePort()
  const portal = `http://localhost:${port}`
  const child = spawn(
    process.execPath,
    [join(root, 'bin/gameyard.js'), 'serve', '--port', String(port), '--data', join(folder, 'data')],
    {
      cwd: folder,
      stdio: 'ignore',
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        SERVICE_LIMITS__RATE_LIMITS: 'false',
        SERVICE_LIMITS__DEPLOY_FILE_BYTES: String(1024 ** 3),
      },
    },
  )
  while ((await ask('GET', `${portal}/readyz`, {}).catch(() => null))?.status !== 200) await sleep(20)
  const json = { 'content-type': 'application/json' }
  const account = { email: 'bench@example.org', password: 'correct yard battery fence', name: 'Bench' }
  const signedUp = await ask('POST', `${portal}/api/auth/sign-up`, { ...json, origin: portal }, JSON.stringify(account))
  const cookie = signedUp.cookies.map((line) => line.split(';')[0]).join('; ')
  const scopes = ['games:read', 'games:write', 'deployments:write']
  const body = JSON.stringify({ label: 'bench', scopes })
  const made = await ask('POST', `${portal}/api/tokens`, { ...json, origin: portal, cookie }, body)
  const headers = { ...json, authorization: `Bearer ${JSON.parse(made.text).token}` }
  const post = async (path: string, body: object = {}) => {
    const { status, text } = await ask('POST', portal + path, headers, JSON.stringify(body))
    if (status >= 300) throw new Error(`${path}: ${status} ${text}`)
    return JSON.parse(text)
  }
  const game = await post('/api/games', { title: 'Bench', description: '' })
  const stop = async () => {
    child.kill('SIGTERM')
    await new Promise((done) => child.once('exit', done))
    rmSync(folder, { recursive: true, force: true })
  }
  return { post, gameId: game.id as string, gameUrl: `http://${game.slug}.localhost:${port}/`, stop }
}

async function deploy({ post, gameId }: Awaited<ReturnType<typeof startServer>>, files: HashedFile[]) {
  const { deployId, uploads, bundle } = (await post('/api/deploy', {
    gameId,
    files: files.map(({ path, size, sha256 }) => ({ path, size, sha256 })),
  })) as { deployId: string; uploads: Upload[]; bundle?: BundleAddress }
  const byPath = new Map(files.map((file) => [file.path, file]))
  const pairs = uploads.map((upload) => ({ upload, file: byPath.get(upload.path) as HashedFile }))
  await sendFiles(pairs, process.env.BUNDLE === 'no' ? undefined : bundle, SILENT)
  await post(`/api/deploy/${deployId}/finalize`)
}

const SILENT = {
  advance() {},
  async arrived() {},
  waiting(reason: string) {
    throw new Error(reason)
  },
}

/** Returns the milliseconds that a function takes. */
async function time(work: () => unknown): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

const shell = (command: string) => execFileSync('sh', ['-c', command], { cwd: work, stdio: 'ignore' })
const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number

try {
  const paths = makeTree()
  shell('sync')
  const times = new Map<string, number[]>()
  const note = (name: string, ms: number) => times.set(name, [...(times.get(name) ?? []), ms])
  for (let run = 0; run < RUNS; run++) {
    note('sha256sum', await time(() => shell('find tree -type f -print0 | xargs -0 sha256sum')))
    note('cp', await time(() => shell('cp -r tree copy')))
    note('sync', await time(() => shell('sync -f copy')))
    shell('rm -r copy')

    const server = await startServer()
    let files: HashedFile[] = []
    note('digests', await time(async () => (files = await announced(paths))))
    note('deploy', await time(() => deploy(server, files)))
    for (let again = 0; again < REDEPLOYS; again++) {
      writeFileSync(join(tree, 'index.html'), `${again} of ${run} `.padEnd(FILE_BYTES, 'y'))
      const ms = await time(async () => {
        await deploy(server, [...(await announced(['index.html'])), ...files.slice(1)])
        const { text } = await ask('GET', server.gameUrl, {})
        if (!text.startsWith(`${again} of ${run} `)) throw new Error('The new build is not live.')
      })
      note('again', ms)
    }
    await server.stop()
  }
  const of = (name: string) => times.get(name) ?? []
  const plain = median(of('sha256sum')) + median(of('cp'))
  const durable = plain + median(of('sync'))
  const whole = median(of('digests')) + median(of('deploy'))
  const row = (name: string, ms: number, runs: number[], ratio = '') =>
    console.log(
      `| ${name} | ${ms.toFixed(0)} | ${Math.min(...runs).toFixed(0)}–${Math.max(...runs).toFixed(0)} | ${ratio} |`,
    )
  console.log(
    `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus()[0]?.model} × ${cpus().length}, ${release()}; ` +
      `${FILES} files of ${FILE_BYTES} bytes, one of ${BIG_MB} MB, ${RUNS} runs, load average ${loadavg()[0]?.toFixed(1)}`,
  )
  console.log('| | ms, median | min–max | ratio |')
  console.log('|---|---|---|---|')
  row('`sha256sum`', median(of('sha256sum')), of('sha256sum'))
  row('`cp -r`', median(of('cp')), of('cp'))
  row('`sync -f` of the copy', median(of('sync')), of('sync'))
  row('digests in the client', median(of('digests')), of('digests'))
  row(
    'announce, upload, finalize',
    median(of('deploy')),
    of('deploy'),
    `${(median(of('deploy')) / (durable - median(of('sha256sum')))).toFixed(1)}× \`cp\` and \`sync\``,
  )
  const total = of('digests').map((ms, index) => ms + (of('deploy')[index] as number))
  row(
    '**deploy, end to end**',
    whole,
    total,
    `${(whole / durable).toFixed(1)}× \`sha256sum\`, \`cp\`, \`sync\`; ${(whole / plain).toFixed(1)}× without \`sync\``,
  )
  row('**one file changed, until it is served**', median(of('again')), of('again'))
} finally {
  agent.destroy()
  rmSync(work, { recursive: true, force: true })
}

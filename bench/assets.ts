// `npx node bench/assets.ts`: how fast models are served, hot-linked and through a game's origin, compared with nginx and
// the same file; packs as ZIP, compared with `zip -0` over the same files; and the time that a lower level of detail
// takes, compared with the command line of glTF-Transform. Needs Debian's nginx, wrk, zip and curl. The last part also
// needs GLTF_TRANSFORM, the path of that program (package @gltf-transform/cli), and is skipped without it. ROUNDS,
// SECONDS and PARTS (files, zip, lod) come from the environment. MODELS names a folder with .glb files, whose lighter forms
// are made and judged.
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LEAST_SIMILARITY, simplifyModel } from '../plugins/assets/models/lod.ts'
import { signUpAt } from '../test/kit/remote-sign-up.ts'
import { freePort } from '../test/kit/server.ts'
import { ask } from '../test/kit/upload.ts'
import { form } from '../test/plugins/assets/kit.ts'
import { sheet } from '../test/plugins/assets/models.ts'
import { load, machine, median, nginxConfig, processorSeconds, type Subject, start, stopAll } from './servers.ts'

const ROUNDS = Number(process.env.ROUNDS ?? 3)
const SECONDS = Number(process.env.SECONDS ?? 3)
const PARTS = (process.env.PARTS ?? 'files,zip,lod').split(',')
const root = resolve(import.meta.dirname, '..')
const work = mkdtempSync(join(tmpdir(), 'gameyard-bench-assets-'))
const site = join(work, 'site')
mkdirSync(site)
const PACK_FILES = 200
const PACK_FILE_BYTES = 512 * 1024

/** The number of rows of each model: 60 KB, which is kept in memory; 1 MB and 9 MB, which are read from disk. */
const MODELS = { 'small.glb': 36, 'middle.glb': 170, 'large.glb': 500 }

async function nginx(): Promise<Subject> {
  const port = await freePort()
  const file = join(work, 'nginx.conf')
  const types = 'types { model/gltf-binary glb; }'
  writeFileSync(file, nginxConfig(work, `server { listen 127.0.0.1:${port}; root ${site}; ${types} }`))
  return { name: 'nginx', port, host: 'localhost', pid: await start('nginx', ['-c', file], { port, cwd: work }) }
}

/** Starts our server with the models and the pack, all public, and with a game that also serves them. */
async function gameyard() {
  const port = await freePort()
  const limits = '{ rateLimits: false }'
  writeFileSync(
    join(work, 'gameyard.yaml'),
    `listen: { port: ${port} }\nlimits: ${limits}\nlog: { level: warn }\nblender: { driver: none }\n`,
  )
  const args = [join(root, 'bin/gameyard.js'), 'serve', '--data', join(work, 'data')]
  const pid = await start(process.execPath, args, { port, cwd: work })
  const portal = `http://localhost:${port}`
  const browser = await signUpAt(portal)
  const scopes = ['assets:write', 'games:write']
  const minted = await ask('POST', `${portal}/api/tokens`, { headers: browser, body: { label: 'bench', scopes } })
  const authorization = `Bearer ${minted.body.token}`
  const upload = async (bytes: Buffer, name: string) => {
    const { payload, headers } = form(bytes, { visibility: 'public' }, name)
    const made = await ask('POST', `${portal}/api/assets`, { headers: { authorization, ...headers }, body: payload })
    if (made.status !== 201) throw new Error(`${name}: ${made.status} ${JSON.stringify(made.body)}`)
    return made.body.slug as string
  }
  const slugs: Record<string, string> = {}
  for (const name of Object.keys(MODELS)) slugs[name] = await upload(readFileSync(join(site, name)), name)
  const pack = await upload(readFileSync(join(work, 'pack.zip')), 'pack.zip')
  const game = await ask('POST', `${portal}/api/games`, {
    headers: { authorization },
    body: { title: 'Bench', description: 'Bench.' },
  })
  const studio: Subject = { name: 'Gameyard', port, pid, host: `localhost:${port}` }
  const proxy: Subject = { ...studio, name: 'Gameyard, game origin', host: new URL(game.body.url).host }
  return { studio, proxy, slugs, pack }
}

/** Waits until a server is idle. Ours first creates the simplified variants. */
async function atRest(pid: number): Promise<void> {
  for (let second = 0, quiet = 0; second < 240 && quiet < 3; second++) {
    const before = processorSeconds(pid)
    await sleep(1000)
    quiet = processorSeconds(pid) - before < 0.05 ? quiet + 1 : 0
  }
}

/** Creates incompressible files and their archive. */
function makePack(): void {
  const folder = join(work, 'pack')
  mkdirSync(folder)
  for (let index = 0; index < PACK_FILES; index++)
    writeFileSync(join(folder, `${index}.bin`), randomBytes(PACK_FILE_BYTES))
  execFileSync('zip', ['-0', '-q', '-r', join(work, 'pack.zip'), 'pack'], { cwd: work })
}

/** Returns the seconds that a command line takes. */
async function timed(command: string): Promise<number> {
  const began = performance.now()
  const child = spawn('sh', ['-c', command], { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${command} ended with ${code}`)
  return (performance.now() - began) / 1000
}

/** Returns the CPU seconds of a command line, which vary much less on a busy machine. */
async function processorTime(command: string): Promise<number> {
  const child = spawn('bash', ['-c', `TIMEFORMAT='%U %S'; time ${command} > /dev/null 2>&1`], { cwd: work })
  let said = ''
  child.stderr.on('data', (chunk) => (said += chunk))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${command} ended with ${code}`)
  return said
    .trim()
    .split(' ')
    .map(Number)
    .reduce((sum, seconds) => sum + seconds, 0)
}

/** Runs each command once to warm up, then alternately. @returns the medians */
async function inTurn(commands: string[], measure: (command: string) => Promise<number>): Promise<number[]> {
  const times = commands.map(() => [] as number[])
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, command] of commands.entries()) {
      const time = await measure(command)
      if (round > 0) times[index]?.push(time)
    }
  }
  return times.map(median)
}

/** Runs the program of the server's worker threads in a separate process. */
const SIMPLIFY = `import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
const built = ${JSON.stringify(join(root, 'dist/browser/'))}
const { workers } = JSON.parse(readFileSync(built + 'manifest.json'))
const worker = new Worker(readFileSync(built + workers.models, 'utf8'), { eval: true })
worker.once('message', ({ result }) => process.exit(result ? 0 : 1))
worker.postMessage({ task: 'simplify', path: process.argv[2], out: process.argv[3] })`

/** Compares each model from nginx, by its hot-link, and through a game. */
async function compareFiles({ studio, proxy, slugs }: Ours): Promise<void> {
  const peer = await nginx()
  console.log(
    '| requests/s (a second of processor time) | nginx | Gameyard | Gameyard, game origin |\n|---|--:|--:|--:|',
  )
  for (const name of Object.keys(MODELS)) {
    const size = readFileSync(join(site, name)).length
    const ways: [Subject, string][] = [
      [peer, `/${name}`],
      [studio, `/api/assets/${slugs[name]}/file?variant=source`],
      [proxy, `/__service/assets/${slugs[name]}.glb?variant=source`],
    ]
    const results = ways.map(() => [] as ReturnType<typeof load>[])
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [index, [subject, path]] of ways.entries()) {
        const result = load(subject, { path, connections: size > 1e6 ? 8 : 32, seconds: SECONDS })
        if (round > 0) results[index]?.push(result)
      }
    }
    const rates = results.map((runs) => median(runs.map(({ requests }) => requests)))
    const own = results.map((runs) => median(runs.map(({ perSecond }) => perSecond)))
    const cells = rates.map((rate, index) => {
      const beside = index === 0 ? '' : `, ${(rate / (rates[0] as number)).toFixed(2)}×`
      return `${rate.toFixed(0)} (${own[index]?.toFixed(0)})${beside}`
    })
    console.log(`| ${Math.round(size / 1000)} KB GLB | ${cells.join(' | ')} |`)
  }
}

async function compareZip({ studio, pack }: Ours): Promise<void> {
  const bytes = PACK_FILES * PACK_FILE_BYTES
  const address = `http://127.0.0.1:${studio.port}/api/assets/${pack}/file`
  const [ours = 0, zip = 0] = await inTurn(
    [`curl -sf -H 'Host: ${studio.host}' ${address} | cat > /dev/null`, 'zip -0 -q -r - pack | cat > /dev/null'],
    timed,
  )
  const rate = (seconds: number) => `${(bytes / 1e6 / seconds).toFixed(0)} MB/s`
  console.log(
    `\nZIP of ${PACK_FILES} files, ${Math.round(bytes / 1e6)} MB: ${rate(ours)}; zip -0: ${rate(zip)}; ${(zip / ours).toFixed(2)}×`,
  )
}

async function compareLighterForms(): Promise<void> {
  const { GLTF_TRANSFORM } = process.env
  const large = join(site, 'large.glb')
  const triangles = 2 * MODELS['large.glb'] ** 2
  writeFileSync(join(work, 'simplify.mjs'), SIMPLIFY)
  const commands = [`'${process.execPath}' simplify.mjs ${large} ours.glb`]
  if (GLTF_TRANSFORM) {
    const theirs = `'${process.execPath}' ${GLTF_TRANSFORM}`
    const simplify = `${theirs} simplify ${large} theirs.glb --ratio 0.25 --error 0.01`
    commands.push(`{ ${simplify} && ${theirs} validate theirs.glb; }`, simplify)
  }
  const times = await inTurn(commands, processorTime)
  const [own = 0, ...theirs] = times.map((seconds) => (seconds * 100_000) / triangles)
  const said = (name: string, seconds: number) =>
    console.log(`${name}: ${seconds.toFixed(2)}; ours takes ${(own / seconds).toFixed(2)} of that`)
  console.log(
    `\nLighter form of ${triangles} triangles, seconds of processor time for 100,000, whole process, result validated: ${own.toFixed(2)}`,
  )
  for (const [index, name] of ['gltf-transform simplify, validate', 'gltf-transform simplify alone'].entries())
    if (theirs[index] !== undefined) said(name, theirs[index])
}

/** Makes the lighter form of each model of a folder, and prints how many have one, their sizes and the least similar. */
async function countForms(folder: string): Promise<void> {
  const reasons = new Map<string, number>()
  const forms: { path: string; share: number; similarity: number }[] = []
  const paths = globSync('**/*.glb', { cwd: folder }).sort()
  for (const path of paths) {
    const bytes = new Uint8Array(readFileSync(join(folder, path)))
    const made = await simplifyModel(bytes)
    if ('reason' in made) reasons.set(made.reason, (reasons.get(made.reason) ?? 0) + 1)
    else forms.push({ path, share: made.bytes.length / bytes.length, similarity: made.similarity })
  }
  const [worst] = forms.sort((a, b) => a.similarity - b.similarity)
  const share = median(forms.map(({ share }) => share))
  console.log(
    `\nLighter forms: ${forms.length} of ${paths.length} models, ${(100 * share).toFixed(0)} % of the bytes (median); least similar: ${worst?.similarity.toFixed(4)} (${worst?.path}), bound ${LEAST_SIMILARITY}; none: ${[...reasons].map(([reason, count]) => `${count} ${reason}`).join(', ')}`,
  )
}

type Ours = Awaited<ReturnType<typeof gameyard>>

try {
  for (const [name, rows] of Object.entries(MODELS)) writeFileSync(join(site, name), await sheet(rows))
  console.log(`${machine()}; median of ${ROUNDS} × ${SECONDS} s, the first round left out\n`)
  if (PARTS.includes('files') || PARTS.includes('zip')) {
    makePack()
    const ours = await gameyard()
    await atRest(ours.studio.pid)
    if (PARTS.includes('files')) await compareFiles(ours)
    if (PARTS.includes('zip')) await compareZip(ours)
  }
  if (PARTS.includes('lod')) await compareLighterForms()
  if (process.env.MODELS) await countForms(process.env.MODELS)
} finally {
  await stopAll()
  rmSync(work, { recursive: true, force: true })
}

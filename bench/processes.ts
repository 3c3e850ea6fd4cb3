// `npx node bench/processes.ts`: what several processes of one machine bring (`gameyard serve --processes N`), beside one
// process in the same run. All processes and the load share the cores of the machine, so on two cores the load takes
// from what is measured. So each line has a second ratio: the processor time of one operation, that of the supervisor
// included. `N` processes on free cores do `N` times what one does, divided by that. The servers run in turn in short
// rounds; a ratio is the median of those of the rounds. Needs wrk. ROUNDS (5), SECONDS (5), PROCESSES (2), CONNECTIONS
// (64), EXCHANGES (4000), ROOM_RATES (20 to 200) and PARTS (idle,http,exchanges,rooms,bare,writes,single) come
// from the environment. `bare` compares bare servers of Node in the same way. `single` compares `--processes 1` with a server
// that has no such setting, by its processor time.
import { execFile, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { loadConfig } from '../config/load.ts'
import { folderSource } from '../core/data/built-files.ts'
import { createKernel } from '../core/kernel.ts'
import { createLog } from '../core/observe/log.ts'
import { SqliteConnections } from '../drivers/database/sqlite-connection.ts'
import { families } from '../drivers/index.ts'
import { plugins } from '../plugins/index.ts'
import { GAMEYARD } from '../test/kit/gameyard.ts'
import { freePort } from '../test/kit/server.ts'
import { ask } from '../test/kit/upload.ts'
import { deployPage, signUp, tokenOf } from '../test/system/cluster-players.ts'
import { measureRate } from './closed-loop.ts'
import type { PlayersJob, PlayersResult } from './processes/players.ts'
import { machine, median, processorSeconds } from './servers.ts'

const ROUNDS = Number(process.env.ROUNDS ?? 5)
const SECONDS = Number(process.env.SECONDS ?? 5)
const PROCESSES = Number(process.env.PROCESSES ?? 2)
const CONNECTIONS = Number(process.env.CONNECTIONS ?? 64)
const EXCHANGES = Number(process.env.EXCHANGES ?? 4000)
const ROOM_RATES = (process.env.ROOM_RATES ?? '20,40,50,60,70,80,90,100,110,120,130,140,160,180,200')
  .split(',')
  .map(Number)
const PARTS = (process.env.PARTS ?? 'idle,http,exchanges,rooms,bare,writes,single').split(',')
const REDIRECT_URI = 'https://game.example/callback'

const endings: (() => Promise<void>)[] = []

interface Subject {
  count: number
  pid: number
  port: number
  token: string
  /** Host of the game whose files and rooms are used. */
  host: string
  /** Creates authorization codes, and returns the bodies of the requests that exchange them. */
  codes(count: number): Promise<string[]>
}

interface Measured {
  /** Operations a second. */
  rate: number
  /** Operations for each second of the server's processor time. */
  perSecond: number
}

/** Starts a server whose output nobody reads, since a reader would take processor time. */
async function start(count: number, setting: object = { processes: count }): Promise<Subject> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-bench-'))
  const port = await freePort()
  const config = {
    listen: { port, ...setting },
    blender: { driver: 'none' },
    log: { level: 'warn' },
    limits: {
      rateLimits: false,
      connectionsPerAddress: 100_000,
      roomGuestSocketsPerAddress: 10_000,
      roomMessagesPerSecond: 1000,
    },
  }
  writeFileSync(join(folder, 'gameyard.yaml'), stringify(config))
  const [command, ...first] = GAMEYARD
  const child = spawn(command, [...first, 'serve'], { cwd: folder, stdio: 'ignore', env: { PATH: process.env.PATH } })
  endings.push(async () => {
    child.kill('SIGTERM')
    await once(child, 'exit')
    rmSync(folder, { recursive: true, force: true })
  })
  const portal = `http://localhost:${port}`
  const serves = async () => {
    const answer = await ask('GET', `${portal}/metrics`).catch(() => null)
    return answer?.status === 200 && (count === 1 || String(answer.body).includes(`{process="${count}"`))
  }
  while (!(await serves())) await sleep(100)
  const ada = await signUp(portal, 'Ada')
  const scopes = ['games:read', 'games:write', 'deployments:write', 'oauth:write']
  const token = await tokenOf(ada, portal, scopes)
  const html = '<!doctype html><title>Bench</title>'.padEnd(2048, ' ')
  const { game } = await deployPage(portal, token, 'Bench', html)
  const headers = { authorization: `Bearer ${token}` }
  const settings = { multiplayer: { guests: true } }
  await ask('PATCH', `${portal}/api/games/${game.id}`, { headers, body: { settings } })
  const made = await ask('POST', `${portal}/api/oauth/apps`, {
    headers,
    body: { name: 'Bench', redirectUris: [REDIRECT_URI] },
  })
  const playerId = (await ask('GET', `${portal}/api/cli/whoami`, { headers })).body.user.id
  return {
    count,
    pid: child.pid as number,
    port,
    token,
    host: `${game.slug}.localhost:${port}`,
    codes: (wanted) => issueCodes(folder, { playerId, app: made.body, wanted }),
  }
}

/** Starts bare servers, which need no more than a port. */
async function startBare(count: number): Promise<Subject> {
  const port = await freePort()
  const args = [join(import.meta.dirname, 'processes/bare.ts'), String(port), String(count)]
  const child = spawn(process.execPath, args, { stdio: 'ignore' })
  endings.push(async () => {
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  while (!(await ask('GET', `http://127.0.0.1:${port}/`).catch(() => null))) await sleep(100)
  await sleep(1000) // the others listen too
  return { count, pid: child.pid as number, port, token: '', host: 'localhost', codes: async () => [] }
}

/** Issues codes as one more node of the platform would. */
async function issueCodes(
  folder: string,
  { playerId, app: client, wanted }: { playerId: string; app: Record<string, string>; wanted: number },
): Promise<string[]> {
  const file = join(folder, 'gameyard.yaml')
  const { config, plugins: chosen, drivers } = await loadConfig({ file, cwd: folder, env: {}, families, plugins })
  config.log = { level: 'silent' } as never
  const browserFiles = folderSource(resolve(import.meta.dirname, '../dist/browser'))
  const app = await createKernel(config, { plugins: chosen, drivers, browserFiles, version: 'bench' })
  const { identity } = app
  const clientId = client.clientId as string
  const consentId = await identity.consents.remember(playerId, clientId, ['profile'])
  const binding = { clientId, playerId, consentId, redirectUri: REDIRECT_URI, scope: ['profile'] }
  const rest = { codeChallenge: null, nonce: null, resource: null, sessionId: null, authTime: new Date() }
  const codes: string[] = []
  while (codes.length < wanted)
    codes.push(...(await Promise.all(Array.from({ length: 50 }, () => identity.codes.issue({ ...binding, ...rest })))))
  await app.close()
  const secret = { client_id: clientId, client_secret: client.clientSecret as string }
  return codes.map((code) =>
    new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, ...secret }).toString(),
  )
}

/** Measures how often something happens, and the processor time that the server needs for it. */
async function measured({ pid }: Subject, load: () => Promise<{ rate: number; total: number }>): Promise<Measured> {
  const before = processorSeconds(pid)
  const { rate, total } = await load()
  return { rate, perSecond: total / (processorSeconds(pid) - before) }
}

/** @returns answers per second, and all answers */
async function wrk(
  { port }: Subject,
  { path, host, headers = [] }: { path: string; host: string; headers?: string[] },
) {
  const all = [`Host: ${host}`, ...headers].flatMap((one) => ['-H', one])
  const url = `http://127.0.0.1:${port}${path}`
  // The output of the servers is read meanwhile, since they wait for a reader.
  const { stdout: output } = await promisify(execFile)('wrk', [
    '-t1',
    `-c${CONNECTIONS}`,
    `-d${SECONDS}s`,
    '--timeout',
    '10s',
    ...all,
    url,
  ])
  if (/Non-2xx|Socket errors/.test(output)) throw new Error(`${path}:\n${output}`)
  const [rate, total] = [/Requests\/sec:\s+([\d.]+)/, /(\d+) requests in/].map((each) => Number(each.exec(output)?.[1]))
  return { rate: rate as number, total: total as number }
}

async function exchange(subject: Subject): Promise<Measured> {
  const { port } = subject
  const bodies = await subject.codes(EXCHANGES)
  const load = {
    connections: CONNECTIONS,
    requests: bodies.length,
    // It shares the cores with the servers, and must not use one while it has nothing to do.
    stayAwake: false,
    request: (number: number) =>
      `POST /api/oauth/token HTTP/1.1\r\nhost: localhost:${port}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: ${bodies[number]?.length}\r\n\r\n${bodies[number]}`,
  }
  return measured(subject, async () => ({ rate: await measureRate(port, load), total: bodies.length }))
}

/** The rates that a server sustains, ascending, with the deliveries for each second of its processor time. */
async function sustainedRates({ count, port, pid, host }: Subject): Promise<Map<number, Measured>> {
  const job: PlayersJob = { port, host, rates: ROOM_RATES, seconds: SECONDS, rooms: 50, players: 8 }
  const script = join(import.meta.dirname, 'processes/players.ts')
  const child = spawn(process.execPath, [script, JSON.stringify(job)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const rates = new Map<number, Measured>()
  let began = 0
  for await (const line of createInterface({ input: child.stdout })) {
    const result = JSON.parse(line) as { phase: string } & PlayersResult
    if (result.phase === 'begin') began = processorSeconds(pid)
    else {
      const { rate, delivered, p50, p99, own, sustained } = result
      const cores = (processorSeconds(pid) - began) / SECONDS
      console.error(
        `${count}: ${rate} a second, ${delivered.toFixed(0)} delivered, p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, ${cores.toFixed(2)} cores, players ${own.toFixed(2)}`,
      )
      if (sustained) rates.set(rate, { rate: delivered, perSecond: delivered / cores })
    }
  }
  return rates
}

/**
 * Memory of a server and its processes in MB. Pages of a file, such as the program of Node, count once however many of
 * these processes have them. PSS would divide them by all processes of the machine, also by those of other servers.
 */
function memory(pid: number): number {
  let own = 0
  const shared = new Map<string, number>()
  for (const process of treeOf(pid)) {
    const smaps = readFileSync(`/proc/${process}/smaps`, 'utf8')
    for (const [, offset, inode, values = ''] of smaps.matchAll(MAPPING)) {
      const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(values)?.[1])
      const anonymous = of('Anonymous')
      own += anonymous
      const page = `${inode} ${offset}`
      shared.set(page, Math.max(shared.get(page) ?? 0, of('Rss') - anonymous))
    }
  }
  return [...shared.values()].reduce((sum, bytes) => sum + bytes, own) / 1024
}

/** A mapping of `/proc/PID/smaps`: address, rights, offset, device, inode, and lines of values. */
const MAPPING = /^[0-9a-f]+-[0-9a-f]+ \S+ (\S+) \S+ (\d+).*\n((?:[A-Z]\w+:.*\n)+)/gm

function treeOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return [pid, ...children.flatMap((child) => treeOf(Number(child)))]
}

const WAITING = { waitMs: 5000, synchronous: 'full' } as const

/** Waits of processes that write the same SQLite file all the time, in ms, from the request to the begin. */
async function measureWaits(count: number): Promise<{ rows: number; p99: number; longest: number }> {
  const folder = mkdtempSync(join(resolve(import.meta.dirname, '..'), '.bench-'))
  try {
    const file = join(folder, 'waits.db')
    const connections = await SqliteConnections.open(file, WAITING, { log: createLog('silent') })
    connections.writer.exec('create table notes (id integer primary key, text text)')
    await connections.close()
    const results = await Promise.all(
      Array.from({ length: count }, async () => {
        const [result] = await once(fork(import.meta.filename, ['writer', file]), 'message')
        return result as { rows: number; p99: number; longest: number }
      }),
    )
    return {
      rows: results.reduce((sum, { rows }) => sum + rows, 0) / SECONDS,
      p99: Math.max(...results.map(({ p99 }) => p99)),
      longest: Math.max(...results.map(({ longest }) => longest)),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Eight callers of one process, each of which writes a row, and then waits for 2 ms. */
async function write(file: string): Promise<void> {
  const connections = await SqliteConnections.open(file, WAITING, { log: createLog('silent') })
  const waits: number[] = []
  const end = performance.now() + SECONDS * 1000
  const caller = async () => {
    while (performance.now() < end) {
      const asked = performance.now()
      await connections.groupCommit(async (statements) => {
        waits.push(performance.now() - asked)
        await statements.execute('insert into notes (text) values (?)', ['x'.repeat(200)])
      })
      await sleep(2)
    }
  }
  await Promise.all(Array.from({ length: 8 }, caller))
  await connections.close()
  waits.sort((a, b) => a - b)
  const p99 = waits[Math.floor(waits.length * 0.99)] ?? 0
  process.send?.({ rows: waits.length, p99, longest: waits.at(-1) ?? 0 })
  process.disconnect?.()
}

async function main(): Promise<void> {
  console.log(machine())
  if (PARTS.includes('single')) await compareSingle()
  if (PARTS.some((part) => !['writes', 'single'].includes(part))) await compareServers()
  if (!PARTS.includes('writes')) return
  console.log('\n| processes that write | rows a second | wait p99, ms | longest wait, ms |\n|---:|---:|---:|---:|')
  for (const count of [1, 2, 4]) {
    const { rows, p99, longest } = await measureWaits(count)
    console.log(`| ${count} | ${rows.toFixed(0)} | ${p99.toFixed(1)} | ${longest.toFixed(0)} |`)
  }
}

/** Compares the processor time of requests to one process: with `listen.processes: 1`, and without a setting. */
async function compareSingle(): Promise<void> {
  const [without, one] = [await start(1, {}), await start(1)]
  console.log('\n| µs of processor time each | no setting | 1 process | ratio |\n|---|---:|---:|---:|')
  const micros = async (subject: Subject, request: Parameters<typeof wrk>[1]) => {
    const { perSecond } = await measured(subject, () => wrk(subject, request))
    return 1e6 / perSecond
  }
  const requests: [string, (subject: Subject) => Parameters<typeof wrk>[1]][] = [
    ['2 KB file', ({ host }) => ({ path: '/', host })],
    ['`whoami`', ({ port, token }) => whoami(port, token)],
  ]
  for (const [name, request] of requests) {
    const found: [number, number][] = []
    for (let round = -1; round < ROUNDS; round++) {
      const pair: [number, number] = [await micros(without, request(without)), await micros(one, request(one))]
      if (round >= 0) found.push(pair) // the first round warms up
    }
    const [first, second] = [median(found.map(([a]) => a)), median(found.map(([, b]) => b))]
    console.log(
      `| ${name} | ${first.toFixed(1)} | ${second.toFixed(1)} | ${median(found.map(([a, b]) => b / a)).toFixed(3)} |`,
    )
  }
  for (const end of endings.splice(0)) await end()
}

const whoami = (port: number, token: string) => ({
  path: '/api/cli/whoami',
  host: `localhost:${port}`,
  headers: [`Authorization: Bearer ${token}`],
})

async function compareServers(): Promise<void> {
  const row = (name: string, one: number, several: number, ratio = several / one, time?: number) =>
    console.log(
      `| ${name} | ${one.toFixed(0)} | ${several.toFixed(0)} | ${ratio.toFixed(2)} | ${time?.toFixed(2) ?? ''} | ${time ? (PROCESSES / time).toFixed(2) : ''} |`,
    )
  console.log(
    `\n| | 1 process | ${PROCESSES} processes | ratio | processor time each, of one | on free cores |\n|---|---:|---:|---:|---:|---:|`,
  )
  const rounds = async (
    name: string,
    [one, several]: [Subject, Subject],
    measure: (subject: Subject) => Promise<Measured>,
  ) => {
    const found: [Measured, Measured][] = []
    for (let round = -1; round < ROUNDS; round++) {
      const pair: [Measured, Measured] = [await measure(one), await measure(several)]
      if (round >= 0) found.push(pair) // the first round warms up
    }
    const ofPairs = (ratio: (pair: [Measured, Measured]) => number) => median(found.map(ratio))
    row(
      name,
      ofPairs(([single]) => single.rate),
      ofPairs(([, all]) => all.rate),
      ofPairs(([single, all]) => all.rate / single.rate),
      ofPairs(([single, all]) => single.perSecond / all.perSecond),
    )
  }
  if (PARTS.includes('bare')) {
    const [one, several] = [await startBare(1), await startBare(PROCESSES)]
    await rounds('bare servers, 2 KB, answers a second', [one, several], (subject) =>
      measured(subject, () => wrk(subject, { path: '/', host: 'localhost' })),
    )
    for (const end of endings.splice(0)) await end()
  }
  if (!PARTS.some((part) => ['idle', 'http', 'exchanges', 'rooms'].includes(part))) return
  const [one, several] = [await start(1), await start(PROCESSES)]
  if (PARTS.includes('idle')) {
    await sleep(15_000) // each process returns unused memory at rest
    row('idle memory, MB', memory(one.pid), memory(several.pid))
  }
  const http = (name: string, request: (subject: Subject) => Parameters<typeof wrk>[1]) =>
    rounds(`${name}, answers a second`, [one, several], (subject) =>
      measured(subject, () => wrk(subject, request(subject))),
    )
  if (PARTS.includes('http')) {
    await http('2 KB files', ({ host }) => ({ path: '/', host }))
    await http('pages', ({ port }) => ({ path: '/catalog', host: `localhost:${port}` }))
    await http('`whoami`', ({ port, token }) => whoami(port, token))
  }
  if (PARTS.includes('exchanges')) await rounds('codes exchanged a second', [one, several], exchange)
  if (PARTS.includes('rooms')) {
    const [single, all] = [await sustainedRates(one), await sustainedRates(several)]
    const highest = (rates: Map<number, Measured>) => Math.max(0, ...rates.keys())
    const common = [...single.keys()].filter((rate) => all.has(rate))
    const time = median(common.map((rate) => (single.get(rate)?.perSecond ?? 0) / (all.get(rate)?.perSecond ?? 1)))
    row('rooms 50 × 8, highest rate', highest(single), highest(all), undefined, time)
  }
  for (const end of endings) await end()
}

if (process.argv[2] === 'writer') await write(process.argv[3] as string)
else await main()

// Several processes of one machine behind one port: `gameyard serve --processes N`.
import { once } from 'node:events'
import { cpSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { inFull } from '../kit/extent.ts'
import { type Server, startServer } from '../kit/server.ts'
import { startLoad } from '../kit/steady-load.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { until as poll } from '../kit/until.ts'
import { ask } from '../kit/upload.ts'
import { deployPage, mustAsk, signUp, tokenOf } from '../system/cluster-players.ts'
import { playInRooms } from '../system/cluster-rooms.ts'
import { temporaryFolder } from './program.ts'

t.setTimeout(timeLimit(1800))

const CONFIG = { blender: { driver: 'none' }, limits: { rateLimits: false, shutdownSeconds: 10 } }

const startProcesses = (t: Test, { env = {}, config = {} }: { env?: Record<string, string>; config?: object } = {}) =>
  startServer(t, {
    config: { ...CONFIG, ...config },
    env: { SERVICE_LISTEN__PROCESSES: '2', ...env },
  })

const root = join(import.meta.dirname, '../..')

/** Copies the program as a package has it, with the packages that it uses. */
function copyProgram(to: string, version?: string): void {
  const built = JSON.parse(readFileSync(join(root, 'dist/program/current.json'), 'utf8'))
  const parts = ['bin', 'clients', 'config', 'core', 'docs', 'drivers', 'plugins', 'starters', 'package.json']
  const builds = [
    'dist/browser',
    'dist/clients',
    'dist/program/current.json',
    join('dist/program', dirname(built.entry)),
  ]
  // The built program runs when no source is newer.
  for (const part of [...parts, 'package-lock.json', 'build/program.ts', ...builds])
    cpSync(join(root, part), join(to, part), { recursive: true, preserveTimestamps: true })
  symlinkSync(join(root, 'node_modules'), join(to, 'node_modules'), 'junction')
  if (version === undefined) return
  const file = join(to, 'package.json')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), version }))
}

/** The ids of the processes that have begun to serve, by their number, the latest last. */
function pidsOf(server: Server): Map<number, number[]> {
  const pids = new Map<number, number[]>()
  for (const line of server.output().split('\n')) {
    if (!line.includes('"a process serves"')) continue
    const { process: number, pid } = JSON.parse(line)
    pids.set(number, [...(pids.get(number) ?? []), pid])
  }
  return pids
}

/** Polls for what a process does after its start, which may take long beside other tests. */
const until = (holds: () => Promise<boolean>) => poll(holds, 240)

const served = (server: Server, number: number, times: number) =>
  until(async () => (pidsOf(server).get(number)?.length ?? 0) >= times)

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** A game whose rooms guests enter. */
async function openGame(server: Server) {
  const owner = await signUp(server.portal, 'Ada')
  const token = await tokenOf(owner, server.portal, ['games:read', 'games:write', 'deployments:write'])
  const { game } = await deployPage(server.portal, token, 'Rooms', '<!doctype html><title>rooms</title>')
  const body = { settings: { multiplayer: { guests: true } } }
  await mustAsk('PATCH', `${server.portal}/api/games/${game.id}`, {
    headers: { authorization: `Bearer ${token}` },
    body,
  })
  const { port } = server
  return { game, token, port, portal: server.portal, origin: (slug: string) => `http://${slug}.localhost:${port}` }
}

const metric = (text: string, name: string, number: number) =>
  Number(new RegExp(`^${name}\\{process="${number}"\\} (\\d+)`, 'm').exec(text)?.[1])

t.test('two processes serve one port', async (t) => {
  const server = await startProcesses(t)
  await served(server, 2, 1)
  t.equal(server.output().split('/setup/').length, 2, 'the set-up link is printed once')
  const yard = await openGame(server)
  const site = yard.origin(yard.game.slug)

  await t.test('a room works over both', async (t) => {
    const players = await Promise.all(
      // The system spreads connections by chance.
      Array.from({ length: 24 }, async () => {
        const headers = { host: new URL(site).host, origin: site }
        const socket = new WebSocket(`ws://127.0.0.1:${yard.port}/mp/rooms/both`, { headers })
        t.teardown(() => socket.terminate())
        const heard: string[] = []
        socket.on('message', (data: Buffer) => {
          const frame = JSON.parse(data.toString())
          if (frame.t === 'msg') heard.push(`${frame.from} ${frame.data}`)
        })
        // Without a welcome of everybody, a message would miss those who come later.
        await once(socket, 'message')
        return { socket, heard }
      }),
    )
    for (const [index, { socket }] of players.entries())
      socket.send(JSON.stringify({ t: 'send', to: 'all', type: 'n', data: index }))
    await until(async () => players.every(({ heard }) => heard.length === players.length))
    for (const { heard } of players) t.same(heard, players[0]?.heard, 'in one order')
    let body = ''
    let sockets: number[] = []
    await until(async () => {
      const scrape = await ask('GET', `http://127.0.0.1:${yard.port}/metrics`, { headers: { host: 'localhost' } })
      body = String(scrape.body)
      sockets = [1, 2].map((number) => metric(body, 'gameyard_room_sockets', number))
      // A process that takes more than a second to answer is left out.
      return !sockets.some(Number.isNaN)
    })
    t.equal((sockets[0] ?? 0) + (sockets[1] ?? 0), players.length, 'the metrics are those of both processes')
    t.ok(Math.min(...sockets) > 0, `both have sockets of the room: ${sockets}`)
    t.equal(body.split('# HELP gameyard_room_sockets ').length, 2, 'each metric stands once')
  })

  const rooms = await playInRooms(yard as never, yard)

  await t.test('one that is killed is started again', async () => {
    process.kill(pidsOf(server).get(2)?.at(-1) as number, 'SIGKILL')
    await served(server, 2, 2)
  })

  await t.test('SIGHUP replaces both without a refused connection or a failed request', async (t) => {
    const load = startLoad(`${server.portal}/healthz`, `localhost:${yard.port}`)
    await load.forAnswers(50)
    const before = pidsOf(server)
    server.process.kill('SIGHUP')
    await until(async () => server.output().includes('the processes have been replaced'))
    await load.forAnswers(50)
    await load.end()
    t.same(load.failures, [], `of ${load.answered} requests`)
    for (const pid of before.values()) t.notOk(isAlive(pid.at(-1) as number), 'the former process has ended')
  })

  const { lost, written } = await rooms.end()
  t.same(lost, [], `players were there throughout, and nothing of ${written} changes is lost`)

  const alive = [...pidsOf(server).values()].map((pids) => pids.at(-1) as number)
  t.equal(await server.stop('SIGTERM'), 0)
  t.same(alive.filter(isAlive), [], 'SIGTERM ends all processes')
})

inFull(t)?.test('processes end when their supervisor is killed, and a new start works at once', async (t) => {
  const server = await startProcesses(t)
  await served(server, 2, 1)
  const pids = [...pidsOf(server).values()].flat()
  await server.stop('SIGKILL')
  const again = await startServer(t, {
    config: CONFIG,
    folder: server.folder,
    port: server.port,
    env: { SERVICE_LISTEN__PROCESSES: '2' },
  })
  // The system's first process collects them some seconds later.
  await until(async () => !pids.some(isAlive))
  t.equal((await ask('GET', `${again.portal}/healthz`)).status, 200)
  t.equal(await again.stop(), 0)
})

inFull(t)?.test('SIGHUP brings a newer program at the same path, without a failed request', async (t) => {
  const folder = temporaryFolder(t)
  const program = join(folder, 'program')
  copyProgram(program)
  copyProgram(join(folder, 'next'), '987.6.5')
  const server = await startServer(t, {
    config: CONFIG,
    program: [process.execPath, join(program, 'bin/gameyard.js')],
    env: { SERVICE_LISTEN__PROCESSES: '2' },
  })
  await served(server, 2, 1)
  const yard = await openGame(server)
  // A request has a connection of its own, so both processes answer some.
  const versions = async () => {
    const answers = await Promise.all(Array.from({ length: 24 }, () => mustAsk('GET', `${server.portal}/openapi.json`)))
    return [...new Set(answers.map(({ body }) => body.info.version))]
  }
  const { version } = JSON.parse(readFileSync(join(program, 'package.json'), 'utf8'))
  t.same(await versions(), [version])
  const loads = [
    startLoad(`${server.portal}/catalog`, `localhost:${server.port}`),
    startLoad(`${server.portal}/`, new URL(yard.origin(yard.game.slug)).host),
  ]
  const more = () => Promise.all(loads.map((load) => load.forAnswers(50)))
  await more()
  renameSync(program, join(folder, 'former'))
  renameSync(join(folder, 'next'), program)
  await more()
  server.process.kill('SIGHUP')
  await until(async () => server.output().includes('the processes have been replaced'))
  await more()
  for (const load of loads) {
    await load.end()
    t.same(load.failures, [], `of ${load.answered} requests`)
  }
  t.same(await versions(), ['987.6.5'])
  t.equal(await server.stop(), 0)
})

inFull(t)?.test('auto starts a process for each core', async (t) => {
  const server = await startProcesses(t, { env: { SERVICE_LISTEN__PROCESSES: 'auto' } })
  const count = Math.min(8, availableParallelism())
  await served(server, count, 1)
  t.same(
    [...pidsOf(server).keys()].toSorted(),
    Array.from({ length: count }, (_, index) => index + 1),
  )
  t.equal(await server.stop(), 0)
})

inFull(t)?.test('connections are handed over where sockets cannot be shared', async (t) => {
  const server = await startProcesses(t, { env: { GAMEYARD_PORTS: 'handover' } })
  await served(server, 2, 1)
  const load = startLoad(`${server.portal}/healthz`, `localhost:${server.port}`)
  await load.forAnswers(100)
  server.process.kill('SIGHUP')
  await until(async () => server.output().includes('the processes have been replaced'))
  await load.forAnswers(100)
  await load.end()
  t.same(load.failures, [], `of ${load.answered} requests`)
  t.equal(await server.stop(), 0)
})

inFull(t)?.test('a process that does not start does not take the place of one that serves', async (t) => {
  const server = await startProcesses(t)
  await served(server, 2, 1)
  const before = pidsOf(server)
  const file = `${server.folder}/gameyard.yaml`
  const whole = readFileSync(file, 'utf8')
  writeFileSync(file, 'nonsense: true\n')
  server.process.kill('SIGHUP')
  await until(async () => server.output().includes('the old ones go on'))
  t.same(pidsOf(server), before)

  const [first] = before.get(1) as [number]
  process.kill(first, 'SIGKILL')
  await until(async () => {
    const { body } = await ask('GET', `${server.portal}/readyz`)
    return body.details?.processes === 'warning'
  })
  writeFileSync(file, whole)
  await served(server, 1, 2)
  t.equal(await server.stop(), 0)
})

inFull(t)?.test('in LAN mode the port of a game is that of all processes', async (t) => {
  const server = await startProcesses(t, { config: { lan: { enabled: true, address: '127.0.0.1' } } })
  await served(server, 2, 1)
  const portal = `http://127.0.0.1:${server.port}`
  const owner = await signUp(portal, 'Ada')
  const token = await tokenOf(owner, portal, ['games:read', 'games:write', 'deployments:write'])
  const { game } = await deployPage(portal, token, 'Near', '<!doctype html><title>near</title>')
  const statuses = async () => {
    const answers = await Promise.all(Array.from({ length: 24 }, () => ask('GET', game.url)))
    return [...new Set(answers.map(({ status }) => status))]
  }
  t.same(await statuses(), [200], `${game.url} is open at once`)
  server.process.kill('SIGHUP')
  await until(async () => server.output().includes('the processes have been replaced'))
  t.same(await statuses(), [200], 'and those that come later open it too')
  t.equal(await server.stop(), 0)
})

for (const ports of ['', 'handover'])
  inFull(t)?.test(`https works on all processes ${ports}`, async (t) => {
    const lan = { enabled: true, address: '127.0.0.1', https: true }
    const server = await startProcesses(t, { config: { lan }, env: { GAMEYARD_PORTS: ports } })
    await served(server, 2, 1)
    const status = () =>
      new Promise<number>((resolve, reject) => {
        const options = { agent: false, rejectUnauthorized: false }
        get(`https://127.0.0.1:${server.port}/healthz`, options, (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        }).on('error', reject)
      })
    t.same(new Set(await Promise.all(Array.from({ length: 12 }, status))), new Set([200]))
    t.equal(await server.stop(), 0)
  })

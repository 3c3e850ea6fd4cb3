import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import * as scripts from './conformance-scripts.ts'
import type { BlenderExecutor, BlenderRun, InputFile, RunEnd } from './interface.ts'

/** The parts of a driver that the suite needs. */
export interface BlenderSubject {
  /** The driver's name, shown in the results. */
  name: string
  /**
   * Creates an executor for two concurrent runs, with 1 GiB of memory, 64 MiB of disk and 64 processes for each run.
   */
  create(): Promise<BlenderExecutor>
  /** Lists the remains of runs other than processes: folders, containers, volumes. */
  leftovers(): Promise<string[]>
  /** Lines of `/proc/self/mounts` of the machine that mounts for runs, unless that is this one. */
  mounts?(): string[]
}

/** The time is for a busy machine, on which a run may take twenty times as long. */
const LIMITS = { timeoutSeconds: 240, artifactBytes: 1024 ** 2, logBytes: 1024 ** 2 }

const ownMounts = () => readFileSync('/proc/self/mounts', 'utf8').split('\n')

/**
 * The contract of `BlenderExecutor` as tests (for tap), containment first. The suite runs a real Blender about fifteen
 * times and checks this machine for leftovers, so the executor must run on this machine.
 */
export function testBlenderDriver({ name, create, leftovers, mounts = ownMounts }: BlenderSubject): void {
  t.test(`blender driver ${name}`, async (t) => {
    const executor = await create()
    t.teardown(() => executor.close())
    const folder = await mkdtemp(join(tmpdir(), 'blender-conformance-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const bench = new Bench(executor, folder)
    const before = new Set(mounts())
    const newMounts = () => mounts().filter((line) => !before.has(line))

    /**
     * Asserts that no process of a run remains on this machine; its command line would contain the name of the run's
     * file.
     */
    const nothingIsLeft = async (t: Test) => {
      const deadline = Date.now() + 60_000
      while (processesOf(bench.main).length > 0 && Date.now() < deadline) await sleep(50)
      t.same(processesOf(bench.main), [], 'no process is left')
      t.same(await leftovers(), [], 'nothing else is left')
      // Other programs of this machine may also mount file systems for a while.
      for (const patience = Date.now() + 60_000; newMounts().length > 0 && Date.now() < patience; ) await sleep(50)
      t.same(newMounts(), [], 'no mount is left')
    }

    await t.test('check says which Blender it is, and that it lacks nothing', async (t) => {
      const found = await executor.check()
      t.match(found, { available: true, blenderVersion: /^\d+\.\d+/, missing: null })
    })

    await t.test('a run reads its files, prints lines, and leaves the artifacts asked for', async (t) => {
      const lines: string[] = []
      const { end, files } = await bench.run(scripts.HONEST, {
        artifacts: ['note.json', 'missing.bin'],
        files: [
          { path: 'data/note.txt', content: 'Grüße' },
          { path: 'big.bin', content: { file: await bench.file(3_000_000), size: 3_000_000 } },
        ],
        onLine: (line) => lines.push(line),
      })
      t.match(end, { ending: 'exited', code: 0, artifacts: ['note.json'] })
      t.match(JSON.parse(files['note.json'] ?? ''), { note: 'Grüße', big: 3_000_000 })
      t.same(Object.keys(files), ['note.json'])
      t.same(
        lines.filter((line) => / line$/.test(line)),
        ['first line', 'last line'],
      )
      const { end: wrong } = await bench.run("raise ValueError('so')")
      t.match(wrong, { ending: 'exited', code: 1, artifacts: [] }, 'an error is an exit code')
      await nothingIsLeft(t)
    })

    await t.test('a script reaches neither the machine, nor another run, nor the network', async (t) => {
      const secret = randomBytes(12).toString('hex')
      process.env.BLENDER_CONFORMANCE_SECRET = secret
      t.teardown(() => {
        delete process.env.BLENDER_CONFORMANCE_SECRET
      })
      const file = join(folder, 'secret.txt')
      await writeFile(file, secret, { mode: 0o644 })
      const listeners = await listen(t, folder)
      const stop = new AbortController()
      let ready = () => {}
      const isReady = new Promise<void>((resolve) => {
        ready = resolve
      })
      const neighbour = bench.run(scripts.NEIGHBOUR, {
        files: [{ path: 'secret.txt', content: secret }],
        signal: stop.signal,
        onLine: (line) => line === 'ready' && ready(),
      })
      await Promise.race([isReady, neighbour])
      const targets = { ...listeners.targets, file, secret, pid: process.pid }
      const { end, files } = await bench.run(scripts.PROBE, {
        artifacts: ['probe.json'],
        files: [{ path: 'targets.json', content: JSON.stringify(targets) }],
      })
      t.match(end, { ending: 'exited', code: 0 })
      const probe = JSON.parse(files['probe.json'] ?? '{}')
      for (const [what, [how, detail]] of Object.entries(probe.results as Record<string, [string, string]>))
        t.equal(how, 'refused', `${what}: ${detail}`)
      t.same(probe.secrets, [], "neither the machine's secret nor the other run's is found anywhere")
      t.notMatch(probe.environments, secret, "the server's environment is not to be seen")
      t.strictSame(
        Object.keys(probe.environment).filter(
          (name) => !/^(PATH|HOME|LANG|PWD|OLDPWD|SHLVL|HOSTNAME|LC_\w+|_)$/.test(name),
        ),
        [],
        'the environment is empty but for the usual',
      )
      t.ok(probe.processes.length < 8, `only its own processes: ${probe.processes}`)
      t.same(probe.interfaces, ['lo'], 'no network but a loopback of its own')
      t.not(probe.user, 0, 'it is not root')
      t.same(listeners.visits, [], 'nobody was called')
      stop.abort()
      t.match(await neighbour, { end: { ending: 'cancelled' } })
      await nothingIsLeft(t)
    })

    await t.test('what it uses is bounded', async (t) => {
      const bomb = await bench.run(scripts.FORK_BOMB, { artifacts: ['count.json'] })
      t.equal(bomb.end.ending, 'exited')
      t.ok(Number(bomb.files['count.json']) < 64, `processes: ${bomb.files['count.json']}`)
      await nothingIsLeft(t)
      const disk = await bench.run(scripts.DISK, { artifacts: ['disk.json'] })
      const filled: [string, [number, number]][] = Object.entries(JSON.parse(disk.files['disk.json'] ?? '{}'))
      t.equal(filled.length, 3, `the disk was filled: ${JSON.stringify(disk.end)}`)
      for (const [where, [bytes, error]] of filled) {
        t.ok(bytes <= 64 * 1024 ** 2 && error > 0, `${where}: ${bytes} bytes, then error ${error}`)
      }
      const large = await bench.run(scripts.oddArtifact('large'), { artifacts: ['odd.bin'] })
      t.match(large, { end: { ending: 'limit_exceeded', what: 'odd.bin' }, files: {} })
      const chatter = await bench.run(scripts.CHATTER)
      t.match(chatter, { end: { ending: 'limit_exceeded', what: 'log' } })
      await nothingIsLeft(t)
    })

    await t.test('32 GB are not to be had, alone or by many', async (t) => {
      let turns = 0
      const counting = setInterval(() => turns++, 20)
      const { end, files } = await bench.run(scripts.MEMORY, { artifacts: ['memory.json'] })
      clearInterval(counting)
      t.match(end, { ending: 'limit_exceeded', what: 'memory' })
      t.same(files, {})
      t.ok(turns >= 10, `meanwhile this process goes on: its event loop turned ${turns} times`)
      await nothingIsLeft(t)
    })

    await t.test('a run that will not end is ended, at its timeout or when it is cancelled', async (t) => {
      const { end } = await bench.run(scripts.STUBBORN, { limits: { timeoutSeconds: 6 } })
      t.match(end, { ending: 'timeout' })
      await nothingIsLeft(t)
      const stop = new AbortController()
      const cancelled = await bench.run(scripts.STUBBORN, {
        signal: stop.signal,
        onLine(line) {
          if (line === 'asleep') stop.abort()
        },
      })
      t.match(cancelled, { end: { ending: 'cancelled' } })
      await nothingIsLeft(t)
      const never = await bench.run(scripts.HONEST, { signal: AbortSignal.abort() })
      t.match(never, { end: { ending: 'cancelled' } })
    })

    await t.test('a run that is cancelled while it starts ends as well, whatever the moment', async (t) => {
      // The upload is large enough that some runs are cancelled in the middle of it.
      const files = Array.from({ length: 100 }, (_, index) => ({ path: `${index}.txt`, content: 'x'.repeat(200_000) }))
      const script = 'import time; time.sleep(600)'
      for (let step = 0; step < 40; step++) {
        const moment = Math.round(step ** 1.5)
        const stop = new AbortController()
        const timer = setTimeout(() => stop.abort(), moment)
        const run = bench.run(script, { files, signal: stop.signal })
        const result = await Promise.race([run, sleep(moment + 60_000, { end: 'it goes on' })])
        clearTimeout(timer)
        t.match(result, { end: { ending: 'cancelled' } }, `after ${moment} ms`)
      }
      await nothingIsLeft(t)
    })

    await t.test('a daemon it leaves ends before anything is taken out', async (t) => {
      const { end, files } = await bench.run(scripts.DAEMON, { artifacts: ['result.json'] })
      t.match(end, { ending: 'exited', code: 0, artifacts: ['result.json'] })
      const kept = files['result.json']
      await sleep(300)
      t.equal(await readFile(join(bench.output, 'result.json'), 'utf8'), kept, 'and what was taken stays')
      await nothingIsLeft(t)
      const killer = await bench.run(scripts.KILLER, { limits: { timeoutSeconds: 20 } })
      t.match(killer.end, { ending: /^(exited|timeout)$/ }, 'one that kills its supervisor ends itself')
      if (killer.end.ending === 'exited') t.not(killer.end.code, 0)
      await nothingIsLeft(t)
    })

    await t.test('what is no ordinary file does not come out', async (t) => {
      for (const kind of ['symlink', 'device link', 'fifo', 'folder'] as const) {
        const { end, files } = await bench.run(scripts.oddArtifact(kind), { artifacts: ['odd.bin'] })
        t.match(end, { ending: 'invalid_artifact', name: 'odd.bin' }, kind)
        t.same(files, {}, kind)
      }
      // Archives omit sockets, so the artifact counts as missing.
      const { end, files } = await bench.run(scripts.oddArtifact('socket'), { artifacts: ['odd.bin'] })
      if (end.ending === 'exited') t.match(end, { code: 0, artifacts: [] }, 'socket')
      else t.match(end, { ending: 'invalid_artifact', name: 'odd.bin' }, 'socket')
      t.same(files, {}, 'socket')
      await nothingIsLeft(t)
    })

    await t.test('names that lead elsewhere are refused before anything runs; after close nothing runs', async (t) => {
      for (const path of ['../up', '/etc/passwd', 'a/../b', '.hidden', ''])
        await t.rejects(bench.run('pass', { files: [{ path, content: '' }] }), TypeError, JSON.stringify(path))
      await executor.close()
      await t.rejects(bench.run('pass'), { code: /blender_unavailable/i })
    })
  })
}

interface Options {
  artifacts?: string[]
  files?: InputFile[]
  limits?: Partial<BlenderRun['limits']>
  signal?: AbortSignal
  onLine?(line: string): void
}

/** Runs programs, each with its own folders. */
class Bench {
  /** The command line of every run of this bench contains this name; no other process has it. */
  readonly main = `main-${randomBytes(6).toString('hex')}.py`
  output = ''
  readonly #executor: BlenderExecutor
  readonly #folder: string
  #count = 0

  constructor(executor: BlenderExecutor, folder: string) {
    this.#executor = executor
    this.#folder = folder
  }

  async run(
    script: string,
    { artifacts = [], files = [], limits = {}, signal = new AbortController().signal, onLine = () => {} }: Options = {},
  ): Promise<{ end: RunEnd; files: Record<string, string> }> {
    const output = await mkdtemp(join(this.#folder, 'output-'))
    const end = await this.#executor.run({
      id: `conformance-${randomBytes(6).toString('hex')}-${this.#count++}`,
      files: [{ path: this.main, content: script }, ...files],
      main: this.main,
      artifacts,
      output,
      limits: { ...LIMITS, ...limits },
      signal,
      onLine,
    })
    this.output = output
    const found: Record<string, string> = {}
    for (const name of await readdir(output)) found[name] = await readFile(join(output, name), 'utf8')
    return { end, files: found }
  }

  async file(size: number): Promise<string> {
    const path = join(this.#folder, `input-${this.#count++}`)
    await writeFile(path, randomBytes(size))
    return path
  }
}

/**
 * Opens all targets that a run might connect to: TCP on both families and all addresses, a socket in a folder, and an
 * abstract socket.
 */
async function listen(t: Test, folder: string) {
  const visits: string[] = []
  const open = async (name: string, where: object): Promise<Server> => {
    const server = createServer((socket) => {
      visits.push(name)
      socket.destroy()
    })
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(where, resolve))
    t.teardown(() => server.close())
    return server
  }
  const server = await open('tcp', { port: 0, host: '0.0.0.0' })
  const { port } = server.address() as { port: number }
  await open('tcp6', { port, host: '::1' }).catch(() => {}) // the machine may lack IPv6
  const socket = join(folder, 'socket')
  await open('unix', { path: socket })
  const abstract = `blender-conformance-${randomBytes(6).toString('hex')}`
  await open('abstract', { path: `\0${abstract}` })
  const outer = Object.values(networkInterfaces()).flat()
  const address = outer.find((entry) => entry?.family === 'IPv4' && !entry.internal)?.address ?? '127.0.0.1'
  return { visits, targets: { port, socket, abstract, address } }
}

/** Lists the ids of processes whose command line contains a text. */
function processesOf(text: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
    } catch {
      return false
    }
  })
}

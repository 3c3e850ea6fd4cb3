// A server at the limits of its control group: no more threads, and no more memory.
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PNG } from 'pngjs'
import t, { type Test } from 'tap'
import { portal } from '../../bin/doctor/network.ts'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import { startWorker, threadState } from '../../core/jobs/start-worker.ts'
import { groupMemory } from '../../core/observe/cgroup-memory.ts'
import { ThreadWatch } from '../../plugins/host/thread-watch.ts'
import { signUpAt } from '../kit/remote-sign-up.ts'
import { type Server, startServer } from '../kit/server.ts'
import { until } from '../kit/until.ts'

const GROUPS = '/sys/fs/cgroup'

/** The files of a control group, of either version. */
interface Group {
  read(file: string): number
  write(file: string, value: number | string): void
}

/** Makes a control group for processes and moves one into it; null where this process may make none. */
function makeGroup(t: Test, pid: number): Group | null {
  for (const parent of [join(GROUPS, 'pids'), GROUPS]) {
    const folder = join(parent, `gameyard-${process.pid}-pids`)
    const group: Group = {
      read: (file) => Number(readFileSync(join(folder, file), 'utf8')),
      write: (file, value) => writeFileSync(join(folder, file), String(value)),
    }
    try {
      mkdirSync(folder)
      readFileSync(join(folder, 'pids.max'))
      group.write('cgroup.procs', pid)
      t.teardown(() => until(() => rmdirSync(folder) === undefined))
      return group
    } catch {
      // The system has the other version of control groups, or this process has no rights.
    }
  }
  return null
}

const picture = PNG.sync.write(new PNG({ width: 40, height: 40 }))

/** Changes the picture of a player, which takes a thread. */
async function changePicture(server: Server, headers: Record<string, string>): Promise<number> {
  const form = new FormData()
  form.set('picture', new File([new Uint8Array(picture)], 'picture.png', { type: 'image/png' }))
  const { origin, cookie } = headers as { origin: string; cookie: string }
  const answer = await fetch(`${server.portal}/settings/picture`, {
    method: 'POST',
    headers: { origin, cookie },
    body: form,
    redirect: 'manual',
  })
  await answer.text()
  return answer.status
}

const details = async (server: Server) =>
  ((await (await fetch(`${server.portal}/readyz`)).json()) as { details: Record<string, string> }).details

t.test('a server that may start no more threads refuses what needs one, says so, and recovers', async (t) => {
  const server = await startServer(t)
  const headers = await signUpAt(server.portal, 'Ada')
  const group = makeGroup(t, Number(server.process.pid))
  if (!group) return t.comment('This process may make no control group.')
  group.write('pids.max', group.read('pids.current'))
  t.equal(await changePicture(server, headers), 503)
  await until(() => server.output().includes('The system starts no more threads and programs for this process'))
  t.match(await details(server), { threads: 'warning' })
  const { portal: url, port } = server
  const found = await portal({ portal: { url }, listen: { port } } as Config)
  t.match(found, [{ name: 'Platform', status: 'warning', message: /is ready, and reports threads warning/ }])
  t.equal((await fetch(`${server.portal}/catalog`)).status, 200, 'all else goes on')
  t.equal(server.process.exitCode, null)

  group.write('pids.max', 'max')
  await until(() => server.output().includes('Threads can be started again.'))
  t.equal(await changePicture(server, headers), 303)
  t.match(await details(server), { threads: 'ok' })
  t.equal(await server.stop(), 0)
})

/** Writes the files of a control group as the system shows them. */
function groupFiles(t: Test, files: Record<string, string>) {
  const folder = t.testdir({})
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return groupMemory(join(folder, 'cgroup'), join(folder, 'mounts'))
}

t.test('the memory of a control group is read in both versions, without cached files', async (t) => {
  const first = { 'mounts/memory/a/memory.limit_in_bytes': '1000\n', 'mounts/memory/a/memory.usage_in_bytes': '900\n' }
  const stat = { 'mounts/memory/a/memory.stat': 'total_cache 9\ntotal_active_file 200\ntotal_inactive_file 100\n' }
  t.same(await groupFiles(t, { cgroup: '4:memory:/a/b\n0::/\n', ...first, ...stat }), { used: 600, limit: 1000 })
  const second = { 'mounts/memory.max': '1000\n', 'mounts/memory.current': '700\n', 'mounts/memory.stat': 'anon 1\n' }
  t.same(await groupFiles(t, { cgroup: '0::/of/the/host\n', ...second }), { used: 700, limit: 1000 })
  t.equal(await groupFiles(t, { cgroup: '0::/\n', ...second, 'mounts/memory.max': 'max\n' }), null)
  t.equal(
    await groupFiles(t, { cgroup: '4:memory:/\n', 'mounts/memory/memory.limit_in_bytes': '9223372036854771712' }),
    null,
  )
  t.equal(await groupFiles(t, {}), null, 'no Linux')
})

t.test('a server whose control group is nearly out of memory starts no more threads, and recovers', async (t) => {
  const lines: string[] = []
  const note = (message: string) => lines.push(message)
  const health = { notes: new Map() }
  let used = 890
  const parts = { health, clock: systemClock, log: { warn: note, info: note } }
  const watch = new ThreadWatch(parts as never, async () => ({ used, limit: 1000 }))
  t.teardown(() => Object.assign(threadState, { memoryShort: false }))
  const refused = async (now: number) => {
    used = now
    await watch.look()
    try {
      await startWorker('', { stdin: false }).terminate()
      return null
    } catch (error) {
      return error
    }
  }
  t.equal(await refused(890), null)
  const refusal = { statusCode: 503, code: 'threads_exhausted', headers: { 'retry-after': '5' } }
  t.match(await refused(900), refusal)
  t.match(health.notes.get('memory'), {
    state: 'warning',
    message: /^The memory of the control group is nearly in use \(/,
  })
  t.match(await refused(810), refusal, 'until much is free')
  t.equal(await refused(790), null)
  t.match(health.notes.get('memory'), { state: 'ok' })
  t.equal(lines.length, 2, 'one line for each change')
})

// The processes of a supervisor, with small programs in their place.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Installation } from '../../../bin/installation.ts'
import { Supervisor } from '../../../bin/processes/supervisor.ts'
import { createLog } from '../../../core/observe/log.ts'
import { until } from '../../kit/until.ts'
import { temporaryFolder } from '../program.ts'

/** Serves until it is told to end. */
const SERVES = `
  process.send({ t: 'ready' })
  process.on('message', ({ t }) => { if (t === 'leave' || t === 'stop') process.exit() })
  process.on('disconnect', () => process.exit())`
/** Ends before it serves, later than the pause after a first crash. */
const FAILS = 'setTimeout(() => process.exit(1), 1000)'

/**
 * Starts a supervisor of one process.
 *
 * @param programs of the processes in the order of their start; the last one also of all further ones
 */
async function start(t: Test, programs: string[]) {
  const folder = temporaryFolder(t)
  let started = 0
  const installation = {
    // The supervisor asks for the program of each process.
    get program(): [string, string] {
      const file = join(folder, `${started}.cjs`)
      writeFileSync(file, programs[Math.min(started++, programs.length - 1)] as string)
      return [process.execPath, file]
    },
    binary: process.execPath,
  } as unknown as Installation
  const lines: { msg: string; pid: number }[] = []
  let onEnd = () => {}
  const write = (text: string) => {
    const line = JSON.parse(text)
    lines.push(line)
    if (line.msg.startsWith('a process has ended')) onEnd()
  }
  const settings = { count: 1, host: '127.0.0.1', port: 0, ports: [], dataDir: folder, address: '', bus: null }
  const supervisor = new Supervisor(
    { ...settings, shutdownSeconds: 10, level: 'info' },
    {
      installation,
      ports: { open: async () => null, changed() {} },
      log: createLog('info', { write }),
      terminal: false,
    },
  )
  t.teardown(() => supervisor.kill())
  t.equal(await supervisor.start(), true)
  const pids = () => lines.filter(({ msg }) => msg === 'a process serves').map(({ pid }) => pid)
  return {
    supervisor,
    pids,
    started: () => started,
    /** Kills the process, and replaces it as on SIGHUP while the supervisor waits before it starts another. */
    async replaceInPause() {
      const { promise, resolve } = Promise.withResolvers<void>()
      onEnd = () => {
        onEnd = () => {}
        resolve(supervisor.replaceAll())
      }
      process.kill(pids().at(-1) as number, 'SIGKILL')
      await promise
    },
  }
}

t.test('a process that is replaced in the pause after a crash is started once', async (t) => {
  const { supervisor, pids, started, replaceInPause } = await start(t, [SERVES])
  await replaceInPause()
  // The pause is 250 ms.
  await sleep(400)
  t.equal(started(), 2)
  t.equal(pids().length, 2)
  t.equal(await supervisor.stop(), true)
})

t.test('when its replacement does not start, the process is started again', async (t) => {
  const { supervisor, pids, started, replaceInPause } = await start(t, [SERVES, FAILS, SERVES])
  await replaceInPause()
  await until(() => pids().length === 2)
  await sleep(1200)
  t.equal(started(), 3)
  t.equal(await supervisor.stop(), true)
})

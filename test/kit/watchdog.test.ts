// Checks that processes which tests start end with them, however the tests end.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { needsPostgres } from './postgres.ts'
import { until } from './until.ts'

t.test('a test process that is killed leaves no server, no database and none of their children', async (t) => {
  const wanted = needsPostgres.skip ? [] : ['postgres']
  const program = join(import.meta.dirname, 'hanging-process.ts')
  const abandoned = spawn(process.execPath, [program, ...wanted], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => abandoned.kill('SIGKILL'))
  let pids: number[] = []
  for await (const line of createInterface({ input: abandoned.stdout })) {
    if (!line.startsWith('{"pids"')) continue
    pids = JSON.parse(line).pids
    break
  }
  t.equal(pids.length, 2 + wanted.length)
  t.same(pids.filter(isAlive), pids, 'all of them run')
  abandoned.kill('SIGKILL')
  await once(abandoned, 'exit')
  await until(() => !pids.some(isAlive))
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { isInsideData } from '../../../core/data/backups/destination.ts'
import { WorkingFolder } from '../../../core/data/backups/working-folder.ts'
import { endWithParent } from '../../kit/watchdog.ts'

const MODULE = import.meta.resolve('../../../core/data/backups/working-folder.ts')
const PROGRAM = `
const { WorkingFolder } = await import(${JSON.stringify(MODULE)})
await WorkingFolder.create(process.argv[1])
console.log('at work')
setInterval(() => {}, 1000)`

/** Starts a process that works in a folder, and ends it by a signal. */
async function interrupt(t: Test, prefix: string, signal: NodeJS.Signals) {
  const child = endWithParent(spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, prefix]))
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  t.equal(readdirSync(join(prefix, '..')).length, 1)
  child.kill(signal)
  return once(child, 'exit')
}

t.test('unfinished work is removed at a signal, and after a kill by the next run', async (t) => {
  const parent = t.testdir()
  const prefix = join(parent, 'yard.tar-')
  t.same(await interrupt(t, prefix, 'SIGTERM'), [143, null])
  t.same(readdirSync(parent), [])

  await interrupt(t, prefix, 'SIGKILL')
  const [left] = readdirSync(parent)
  const others = ['notes-abcdef', 'yard.tar-a1b2c3', 'yard.tar-d4e5f6', 'yard.tar-g7h8i9']
  for (const name of others) mkdirSync(join(parent, name))
  // Of another machine: one at work, and one that was given up.
  for (const name of others.slice(1, 3))
    writeFileSync(join(parent, name, 'under-way.json'), '{"pid":1,"host":"elsewhere"}')
  utimesSync(join(parent, 'yard.tar-d4e5f6/under-way.json'), 0, 0)
  // A machine lost its power while this was written.
  writeFileSync(join(parent, 'yard.tar-g7h8i9/under-way.json'), '{"pid":1,"ho')
  utimesSync(join(parent, 'yard.tar-g7h8i9/under-way.json'), 0, 0)
  const said: string[] = []
  const next = await WorkingFolder.create(join(parent, 'other.tar-'), (message) => void said.push(message))
  t.same(
    readdirSync(parent).filter((name) => join(parent, name) !== next.path),
    others.slice(0, 2),
  )
  t.same(
    said.map((text) => /^Removed (\S+), /.exec(text)?.[1]).sort(),
    [left, 'yard.tar-d4e5f6', 'yard.tar-g7h8i9'].sort(),
  )
  const second = await WorkingFolder.create(join(parent, 'other.tar-'))
  t.ok(readdirSync(next.path), 'work that goes on is left alone')
  await Promise.all([next.remove(), second.remove()])
  t.same(readdirSync(parent), others.slice(0, 2))
})

t.test('a backup is not written into the data folder', async (t) => {
  const home = t.testdir({ data: { blobs: {}, backups: {} } })
  symlinkSync(join(home, 'data/blobs'), join(home, 'link'))
  const isInside = (path: string) => isInsideData(join(home, path), join(home, 'data'))
  for (const path of ['data', 'data/a.tar', 'data/blobs/a.tar', 'data/keys/a.tar', 'link/a.tar', 'data/new/b/a.tar'])
    t.ok(isInside(path), path)
  for (const path of [
    'a.tar',
    'data-copies/a.tar',
    'data/backups/a.tar',
    'data/backups',
    'data/backup-under-way/a.tar',
  ])
    t.notOk(isInside(path), path)
})

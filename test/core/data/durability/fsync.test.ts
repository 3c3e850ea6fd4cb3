import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { syncFile, syncFolder } from '../../../../core/data/durability/fsync.ts'

t.test('folders and files are synced, on Windows in its own way', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'copy.db')
  const bytes = randomBytes(100)
  writeFileSync(file, bytes)
  for (const platform of ['linux', 'win32'] as const) {
    await syncFolder(folder, platform)
    await syncFile(file, platform)
    t.ok(readFileSync(file).equals(bytes), 'the bytes stay')
    await t.rejects(syncFile(join(folder, 'none'), platform), { code: 'ENOENT' })
  }
  await t.rejects(syncFolder(join(folder, 'none'), 'linux'), { code: 'ENOENT' })
  await syncFolder(join(folder, 'none'), 'win32')
  t.pass('a folder is not opened there')
  // A folder can't be opened for writing on any system, which shows the mode.
  await syncFile(folder, 'linux').catch(() => {})
  await t.rejects(syncFile(folder, 'win32'), 'a file is opened for writing there')
})

// Folders that the platform makes: who can enter them, and where none can be made.
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDataFolder } from '../../../../core/data/data-folder.ts'
import { DiskCache } from '../../../../core/data/disk-cache.ts'
import { makeFolder } from '../../../../core/data/folders/make-folder.ts'
import { createLog } from '../../../../core/observe/log.ts'
import sqlite from '../../../../drivers/database/sqlite.ts'
import local from '../../../../drivers/storage/local.ts'
import { driverContext } from '../../../kit/driver-context.ts'

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)
const needsModes = { skip: process.platform === 'win32' && 'Windows has no modes' }

t.test('only its user can enter a folder that was made, and others stay as they are', needsModes, async (t) => {
  const there = join(t.testdir(), 'there')
  mkdirSync(there)
  t.equal(modeOf(there), '755')
  await makeFolder(join(there, 'a/b'))
  await makeFolder(there)
  t.same(
    ['', 'a', 'a/b'].map((path) => modeOf(join(there, path))),
    ['755', '700', '700'],
  )
})

t.test('whatever is made first in a new data folder is made for its user alone', needsModes, async (t) => {
  const root = t.testdir()
  const context = (name: string) => driverContext({ dataDir: join(root, name, 'data') })
  const storage = await local.create({ path: 'blobs', reserveBytes: 0 } as never, context('storage'))
  await storage.close()
  const database = await sqlite.create(
    { file: 'db/gameyard.db', durability: 'normal', busyTimeout: 1000 } as never,
    context('database'),
  )
  await database.open([])
  await database.close()
  const folder = join(root, 'cache/data/blobs')
  await DiskCache.open({ folder, maxBytes: 1, source: {} as never, log: createLog('silent') })
  const made = [
    'storage/data',
    'storage/data/blobs',
    'database/data',
    'database/data/db',
    'cache/data',
    'cache/data/blobs',
  ]
  for (const path of made) t.equal(modeOf(join(root, path)), '700', path)
})

t.test('a folder that cannot be made is explained by what is in the way', async (t) => {
  const root = t.testdir({ file: '' })
  symlinkSync(join(root, 'nowhere'), join(root, 'link'))
  const causes: [string, string, RegExp][] = [
    ['file', 'file', /a file is in the way/],
    ['file/a/b', 'file', /a file is in the way/],
    ['link', 'link', /it is a link that leads nowhere/],
    ['link/a', 'link', /it is a link that leads nowhere/],
  ]
  for (const [path, cause, message] of causes)
    await t.rejects(makeFolder(join(root, path)), { path: join(root, cause), message }, path)
  await t.rejects(openDataFolder(join(root, 'link')), {
    message: `The data folder ${join(root, 'link')} can't be used (it is a link that leads nowhere); repair it or choose another with --data.`,
  })
  await t.rejects(openDataFolder(join(root, 'file/data')), { message: /file: a file is in the way\)/ })
  t.equal(readFileSync(join(root, 'file'), 'utf8'), '')
  writeFileSync(join(root, 'nowhere'), '')
  await t.rejects(makeFolder(join(root, 'link')), { message: /a file is in the way/ })
})

const linuxOnly = { skip: process.platform !== 'linux' && 'only Linux has /proc' }

t.test('it ends also where the system makes no folders', linuxOnly, async (t) => {
  for (const path of ['/proc/nope', '/proc/nope/backups'])
    await t.rejects(makeFolder(path), { path: '/proc/nope', message: /the system makes no folders there/ })
  await t.rejects(openDataFolder('/proc/nope'), { message: /^The data folder \/proc\/nope can't be used \(/ })
})

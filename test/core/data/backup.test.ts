import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../config/load.ts'
import { restoreBackup, writeBackup } from '../../../core/data/backups/backup.ts'
import { openDataFolder } from '../../../core/data/data-folder.ts'
import { Database } from '../../../core/data/database.ts'
import { Keys } from '../../../core/data/keys.ts'
import type { Migration } from '../../../core/data/migrations.ts'
import sqlite from '../../../drivers/database/sqlite.ts'
import { families } from '../../../drivers/index.ts'
import local from '../../../drivers/storage/local.ts'
import { driverContext } from '../../kit/driver-context.ts'

const files: Migration = {
  name: '2026_11_21_files',
  sqlite: ['create table files (key text primary key, sha256 text not null)'],
  postgres: [],
}

const openStorage = (dataDir: string) => local.create({ path: 'blobs', reserveBytes: 0 }, driverContext({ dataDir }))
const createDatabase = (dataDir: string) =>
  sqlite.create({ file: 'gameyard.db', durability: 'normal', busyTimeout: 5000 }, driverContext({ dataDir }))

/** Opens a data folder with database, storage and keys. */
async function openGround(t: Test, dataDir: string) {
  const { log, clock } = driverContext()
  const driver = await createDatabase(dataDir)
  const db = await Database.open(driver, { entities: [], migrations: [files], log, clock })
  t.teardown(() => db.close())
  const storage = await openStorage(dataDir)
  t.teardown(() => storage.close())
  const keys = await Keys.open({ dataDir })
  /** The blob precedes the row that refers to it, as everywhere in the platform. */
  const save = async (bytes: Buffer) => {
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const key = `blobs/${sha256.slice(0, 2)}/${sha256}`
    await storage.put(key, Readable.from([bytes]), { sha256, size: bytes.length })
    await db.execute('insert into files (key, sha256) values (?, ?)', [key, sha256])
    return key
  }
  return { dataDir, driver, db, storage, keys, save }
}

async function folder(t: Test) {
  const path = await mkdtemp(join(tmpdir(), 'gameyard-backup-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

t.test('a backup made while the platform writes restores to a whole platform', async (t) => {
  const home = await folder(t)
  const ground = await openGround(t, join(home, 'data'))
  for (let count = 0; count < 100; count++) await ground.save(randomBytes(1 + count * 500))
  await ground.save(Buffer.alloc(0))

  let writing = true
  let written = 0
  const writer = (async () => {
    for (; writing; written++) {
      await ground.save(randomBytes(3000))
      await turn()
    }
  })()
  const file = join(home, 'backup.tar')
  const summary = await writeBackup(ground, file)
  writing = false
  await writer
  t.ok(written > 0, `${written} blobs were written meanwhile`)
  t.equal((await stat(file)).mode & 0o077, 0, 'nobody else may read it')
  t.same((await readdir(home)).sort(), ['backup.tar', 'data'], 'nothing else is left')

  const dataDir = join(home, 'restored')
  t.same(await restoreBackup(file, { dataDir, openStorage }), summary)
  t.same((await readdir(home)).sort(), ['backup.tar', 'data', 'restored'])
  const restored = await openGround(t, dataDir)
  const rows = await restored.db.query<{ key: string; sha256: string }>('select * from files')
  t.ok(rows.length >= 101 && rows.length <= summary.blobs, `${rows.length} rows, ${summary.blobs} blobs`)
  for (const { key, sha256 } of rows) {
    const bytes = await buffer(await restored.storage.get(key))
    if (createHash('sha256').update(bytes).digest('hex') !== sha256) t.fail(`${key} is another`)
  }
  t.same(restored.keys.derive('test'), ground.keys.derive('test'))
})

t.test('a backup needs no platform that runs', async (t) => {
  const home = await folder(t)
  const dataDir = join(home, 'data')
  const ground = await openGround(t, dataDir)
  await ground.save(Buffer.from('hello'))
  await ground.db.close()

  const file = join(home, 'backup.tar')
  t.equal(
    (await writeBackup({ driver: await createDatabase(dataDir), storage: ground.storage, dataDir }, file)).blobs,
    1,
  )
  await restoreBackup(file, { dataDir: join(home, 'restored'), openStorage })
  const restored = await openGround(t, join(home, 'restored'))
  t.equal((await restored.db.query('select * from files')).length, 1)
})

t.test('a damaged backup is refused before anything is written', async (t) => {
  const home = await folder(t)
  const ground = await openGround(t, join(home, 'data'))
  for (let count = 0; count < 5; count++) await ground.save(randomBytes(2000))
  const file = join(home, 'backup.tar')
  await writeBackup(ground, file)
  const whole = await readFile(file)
  const contents = [
    whole.indexOf('SQLite format') + 5000,
    whole.indexOf('blobs/') + 600,
    whole.indexOf('"members"') + 300,
  ]
  const damaged = [
    ...contents.map((at) => Buffer.from(whole).fill(Number(whole[at]) ^ 1, at, at + 1)),
    ...[0.1, 0.5, 0.9].map((part) => whole.subarray(0, Math.floor(whole.length * part))),
    whole.subarray(0, whole.lastIndexOf('manifest.json')),
    Buffer.alloc(0),
    randomBytes(5000),
  ]
  for (const [index, bytes] of damaged.entries()) {
    const bad = join(home, 'bad.tar')
    await writeFile(bad, bytes)
    await t.rejects(
      restoreBackup(bad, { dataDir: join(home, 'restored'), openStorage }),
      { name: 'BackupError', message: /bad\.tar is damaged or no backup/ },
      `damage ${index}`,
    )
  }
  t.same((await readdir(home)).sort(), ['backup.tar', 'bad.tar', 'data'])
  await t.rejects(restoreBackup(join(home, 'absent.tar'), { dataDir: join(home, 'restored'), openStorage }), {
    name: 'BackupError',
  })
})

t.test('nothing is overwritten: neither a file by a backup nor a data folder by a restore', async (t) => {
  const home = await folder(t)
  const ground = await openGround(t, join(home, 'data'))
  const file = join(home, 'backup.tar')
  await writeBackup(ground, file)
  await t.rejects(writeBackup(ground, file), { name: 'BackupError', message: /backup\.tar exists/ })
  await t.rejects(restoreBackup(file, { dataDir: ground.dataDir, openStorage }), {
    name: 'BackupError',
    message: /is not empty/,
  })
  await mkdir(join(home, 'empty'))
  await restoreBackup(file, { dataDir: join(home, 'empty'), openStorage })
  t.same((await readdir(join(home, 'empty'))).sort(), ['blobs', 'gameyard.db', 'keys'])
})

t.test('blobs that are removed while the backup runs do not make it fail', async (t) => {
  const home = await folder(t)
  const ground = await openGround(t, join(home, 'data'))
  const [first, second] = [await ground.save(Buffer.from('one')), await ground.save(Buffer.from('two'))]
  let lists = 0
  const storage = {
    async *list(prefix: string) {
      lists++
      if (lists === 1) {
        for await (const found of ground.storage.list(prefix)) {
          // It is removed between the list and its turn, before the copy of the database.
          if (found.key === second) await remove(second)
          yield found
        }
        return
      }
      if (lists === 2) await ground.save(Buffer.from('three'))
      yield* ground.storage.list(prefix)
    },
    get: (key: string) => ground.storage.get(key),
  }
  const remove = async (key: string) => {
    await ground.db.execute('delete from files where key = ?', [key])
    await ground.storage.delete(key)
  }
  let copies = 0
  const driver = {
    backup: async (file: string) => {
      copies++
      await ground.driver.backup(file)
      for (const { key } of await ground.db.query<{ key: string }>('select key from files')) await remove(key)
    },
  }
  const file = join(home, 'backup.tar')
  await writeBackup({ ...ground, driver, storage }, file)
  t.equal(copies, 2, 'the new blob was in the first copy only, and could not be stored any more')
  await restoreBackup(file, { dataDir: join(home, 'restored'), openStorage })
  const restored = await openGround(t, join(home, 'restored'))
  t.same(await restored.db.query('select key from files'), [], 'the second copy refers to none')
  t.equal((await buffer(await restored.storage.get(first))).toString(), 'one')
})

t.test('a backup fails, and leaves no file, when blobs that it needs are removed again and again', async (t) => {
  const home = await folder(t)
  const ground = await openGround(t, join(home, 'data'))
  let latest = ''
  const storage = {
    async *list(prefix: string) {
      latest = await ground.save(randomBytes(9))
      yield* ground.storage.list(prefix)
    },
    get: (key: string) => ground.storage.get(key),
  }
  const driver = {
    backup: async (file: string) => {
      await ground.driver.backup(file)
      await ground.storage.delete(latest)
    },
  }
  await t.rejects(writeBackup({ ...ground, driver, storage }, join(home, 'backup.tar')), {
    name: 'BackupError',
    message: /^The blob blobs\/\S+ was removed while the backup ran/,
  })
  t.same(await readdir(home), ['data'])
})

t.test('the certificate authority of a LAN is restored, so that the devices of guests go on trusting it', async (t) => {
  const home = await folder(t)
  const ground = await openGround(t, join(home, 'data'))
  await mkdir(join(home, 'data/keys'), { recursive: true })
  await writeFile(join(home, 'data/keys/authority.pem'), 'its key')
  await writeFile(join(home, 'data/keys/authority.pem.new'), 'half')
  await writeBackup(ground, join(home, 'backup.tar'))
  await restoreBackup(join(home, 'backup.tar'), { dataDir: join(home, 'restored'), openStorage })
  t.equal(await readFile(join(home, 'restored/keys/authority.pem'), 'utf8'), 'its key')
  t.notOk((await readdir(join(home, 'restored/keys'))).includes('authority.pem.new'))
})

t.test('a restore that fails midway leaves no folder', async (t) => {
  const home = await folder(t)
  const ground = await openGround(t, join(home, 'data'))
  await ground.save(Buffer.from('one'))
  await writeBackup(ground, join(home, 'backup.tar'))
  const full = async (dataDir: string) => {
    const storage = await openStorage(dataDir)
    const put = () => Promise.reject(new Error('no space'))
    return { put, list: () => storage.list(''), close: () => storage.close() }
  }
  await t.rejects(
    restoreBackup(join(home, 'backup.tar'), { dataDir: join(home, 'restored'), openStorage: full }),
    /no space/,
  )
  t.same((await readdir(home)).sort(), ['backup.tar', 'data'])
})

/** Creates a platform's backup with its description. */
async function describedBackup(t: Test, home: string, secret?: string): Promise<string> {
  const ground = await openGround(t, join(home, 'data'))
  await ground.save(Buffer.from('one'))
  const { config } = await loadConfig({ cwd: home, env: {}, families, plugins: [] })
  const file = join(home, 'backup.tar')
  await writeBackup({ ...ground, config: { ...config, dataDir: ground.dataDir, ...(secret && { secret }) } }, file)
  return file
}

t.test('a backup says where its platform was', async (t) => {
  const home = await folder(t)
  const file = await describedBackup(t, home)
  const said: unknown[] = []
  const ready = async (platform: unknown) => {
    said.push(platform)
    t.ok((await readdir(home)).includes('restored'), 'after the data folder is there')
  }
  await restoreBackup(file, { dataDir: join(home, 'restored'), openStorage, ready })
  t.match(said, [{ portal: 'http://localhost:8080', gamesDomain: 'localhost:8080', formerUrls: [], keyCheck: String }])
  const other = { openStorage, ready: () => Promise.reject(new Error('no')) }
  await t.rejects(restoreBackup(file, { dataDir: join(home, 'again'), ...other }), /^Error: no$|no/)
  t.notOk((await readdir(home)).includes('again'))
})

t.test('keys must be derived from what they were derived from', async (t) => {
  for (const secret of [undefined, 'one that is long enough for anybody']) {
    const home = await folder(t)
    const file = await describedBackup(t, home, secret)
    const at = (given: string | undefined) =>
      restoreBackup(file, { dataDir: join(home, 'restored'), openStorage, secret: given })
    await t.rejects(at('another one, that is long enough'), { name: 'BackupError', message: /`secret`.*same one/ })
    if (secret) await t.rejects(at(undefined), { name: 'BackupError', message: /had a `secret`/ })
    t.notOk((await readdir(home)).includes('restored'))
    await at(secret)
  }
})

t.test('a storage that holds something else is not restored into', async (t) => {
  const home = await folder(t)
  const file = await describedBackup(t, home)
  const bucket = await openStorage(join(home, 'bucket'))
  const shared = async () => ({
    put: bucket.put.bind(bucket),
    list: (prefix: string) => bucket.list(prefix),
    close: async () => {},
  })
  await restoreBackup(file, { dataDir: join(home, 'first'), openStorage: shared })
  await restoreBackup(file, { dataDir: join(home, 'second'), openStorage: shared })
  const bytes = Buffer.from('of another platform')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  await bucket.put('blobs/other', Readable.from([bytes]), { sha256, size: bytes.length })
  await t.rejects(restoreBackup(file, { dataDir: join(home, 'third'), openStorage: shared }), {
    name: 'BackupError',
    message: /is not empty: it holds blobs\/other/,
  })
  t.notOk((await readdir(home)).includes('third'))
})

t.test('a restore goes into what is there: an empty folder, a volume, a link', async (t) => {
  const home = await folder(t)
  const ground = await openGround(t, join(home, 'data'))
  await ground.save(Buffer.from('one'))
  const file = join(home, 'backup.tar')
  await writeBackup(ground, file)
  const restored = ['blobs', 'gameyard.db', 'keys']

  // A mount point can be neither removed nor replaced; here the folder's own identity shows that it was not.
  const volume = join(home, 'volume')
  await mkdir(join(volume, 'lost+found'), { recursive: true })
  const { ino } = await stat(volume)
  await restoreBackup(file, { dataDir: volume, openStorage })
  t.same((await readdir(volume)).sort(), [...restored, 'lost+found'].sort())
  t.equal((await stat(volume)).ino, ino)

  await mkdir(join(home, 'disk'))
  await symlink(join(home, 'disk'), join(home, 'link'))
  await restoreBackup(file, { dataDir: join(home, 'link'), openStorage })
  t.same((await readdir(join(home, 'disk'))).sort(), restored)
  t.ok((await lstat(join(home, 'link'))).isSymbolicLink())
  await symlink(join(home, 'nowhere'), join(home, 'dangling'))
  await t.rejects(restoreBackup(file, { dataDir: join(home, 'dangling'), openStorage }), /is a link that leads nowhere/)

  await t.test('and all or nothing, the configuration last', async (t) => {
    for (const name of ['empty', 'new']) {
      const dataDir = join(home, name)
      if (name === 'empty') await mkdir(dataDir)
      let seen: string[] = []
      const ready = async () => {
        seen = await readdir(dataDir)
        throw new Error('the configuration is read-only')
      }
      await t.rejects(restoreBackup(file, { dataDir, openStorage, ready }), /read-only/)
      t.ok(
        restored.every((entry) => seen.includes(entry)),
        'the configuration comes last',
      )
      t.same(await readdir(dataDir).catch(() => []), [])
    }
    t.same(
      (await readdir(home)).filter((name) => name.startsWith('.')),
      [],
    )
  })

  await t.test('one that was killed is undone by the next, and starts no platform', async (t) => {
    const dataDir = join(home, 'killed')
    const work = join(dataDir, '.restore-a1b2c3')
    await mkdir(join(dataDir, 'keys'), { recursive: true })
    await mkdir(work)
    const running = { pid: process.pid, host: hostname() }
    await writeFile(join(work, 'under-way.json'), JSON.stringify(running))
    await writeFile(join(work, 'moved.json'), '["blobs","keys","gameyard.db"]')
    await t.rejects(openDataFolder(dataDir), /was interrupted: run the same command again/)
    await t.rejects(restoreBackup(file, { dataDir, openStorage }), /Another restore into \S+ is under way/)
    const ended = spawnSync(process.execPath, ['-e', ''])
    await writeFile(join(work, 'under-way.json'), JSON.stringify({ ...running, pid: ended.pid }))
    await restoreBackup(file, { dataDir, openStorage })
    t.same((await readdir(dataDir)).sort(), restored)
    await openDataFolder(dataDir)
  })
})

import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ForeignKeyConstraintViolationException,
  LockMode,
  raw,
  SyntaxErrorException,
  UniqueConstraintViolationException,
} from '@mikro-orm/core'
import t, { type Test } from 'tap'
import { systemClock } from '../../core/clock.ts'
import { consumeOnce, markOnce } from '../../core/data/consume-once.ts'
import { Database } from '../../core/data/database.ts'
import type { Migration } from '../../core/data/migrations.ts'
import { createLog } from '../../core/observe/log.ts'
import { Account, entities, Item, migrations } from './conformance-entities.ts'
import { testGroupQuery } from './conformance-group-query.ts'
import { testReadOnly } from './conformance-read-only.ts'
import type { DatabaseDriver } from './interface.ts'

/** The parts of a driver that the suite needs. */
export interface DatabaseSubject {
  /** The driver's name, shown in the results. */
  name: string
  /** Creates a new, empty database. Each call of the returned function creates a driver for it that is not open yet. */
  create(): Promise<() => Promise<DatabaseDriver>>
  /** Removes the resources of `create` outside the process; called once, at the end. */
  destroy?(): Promise<void>
  supports: {
    /** Whether several drivers can connect to one database; false for an in-memory database. */
    several: boolean
    /** Whether `backup` writes a copy; if false, `snapshot` must read one moment. */
    backup: boolean
  }
}

/** Maximum time of any step, in ms, including the driver's longest configured wait. */
const PATIENCE_MS = 60_000

/**
 * The contract of `DatabaseDriver` (core/data/database.ts) as tests (for tap). The platform runs on every driver that
 * passes them. Set the longest wait for another transaction to a second or less, where there is such a setting.
 *
 *     testDatabaseDriver({ name: 'libsql', create: async () => () => libsql.create(config, context), supports: … })
 */
export function testDatabaseDriver({ name, create, destroy, supports }: DatabaseSubject): void {
  t.test(`database driver ${name}`, async (t) => {
    if (destroy) t.teardown(destroy)

    const open = async (t: Test, driver: DatabaseDriver, more: Migration[] = []) => {
      const database = await openDatabase(driver, [...migrations, ...more])
      t.teardown(() => database.close())
      return database
    }
    const fresh = async (t: Test) => open(t, await (await create())())

    await t.test('a new database answers and is migrated', async (t) => {
      const db = await fresh(t)
      await db.ping()
      t.same(await db.query('select count(*) as count from conformance_items'), [{ count: 0 }])
      t.same(await db.query('select name from schema_migrations'), [{ name: migrations[0]?.name }])
    })

    await testReadOnly(t, fresh)
    await testGroupQuery(t, fresh)

    await t.test('rows come back as they were stored: JSON, milliseconds, booleans, nulls, any text', async (t) => {
      const db = await fresh(t)
      const item = {
        id: 'one',
        accountId: null,
        key: `O'Brien "?" \\ ${'\u{1F3AE}'} %s`,
        settings: { list: [1, { deep: "it's ?" }], none: null, text: '\\n' },
        done: true,
        usedAt: null,
        createdAt: new Date('2026-11-21T12:34:56.789Z'),
      }
      await db.em().insert(Item, item)
      t.match(await db.em().findOneOrFail(Item, 'one'), item)
      await db.em().nativeUpdate(Item, 'one', { done: false, usedAt: new Date(1), settings: {} })
      t.match(await db.em().findOneOrFail(Item, 'one'), { done: false, usedAt: new Date(1), settings: {} })
      t.equal(await db.em().count(Item, { createdAt: { $gte: item.createdAt }, key: item.key }), 1)
      t.equal(await db.em().count(Item, { createdAt: { $gt: item.createdAt } }), 0)
    })

    await t.test('raw statements take values in place of ? and give plain rows', async (t) => {
      const db = await fresh(t)
      const at = new Date('2026-11-21T12:34:56.789Z')
      const inserted = await db.execute(
        'insert into conformance_items (id, key, settings, done, created_at) values (?, ?, ?, ?, ?)',
        ['one', 'first', { a: [1] }, true, at],
      )
      t.equal(inserted, 1)
      const [row] = await db.query<{ settings: string }>(
        `select id, key, settings, done, used_at, created_at, '?' as mark from conformance_items where key = ? and done = ?`,
        ['first', true],
      )
      t.match(row, { id: 'one', key: 'first', done: 1, used_at: null, created_at: at.getTime(), mark: '?' })
      t.same(JSON.parse(row?.settings ?? ''), { a: [1] })
      t.equal(await db.execute('update conformance_items set done = ? where created_at <= ?', [false, at]), 1)
      t.equal(await db.execute('delete from conformance_items where key = ?', ['other']), 0)
      t.same(await db.query('select count(*) as count, sum(3) as sum from conformance_items where done = ?', [false]), [
        { count: 1, sum: 3 },
      ])
    })

    await t.test('a violated constraint says which kind it is', async (t) => {
      const db = await fresh(t)
      const item = { key: 'same', settings: {}, done: false, createdAt: new Date() }
      await db.em().insert(Item, { id: 'one', ...item })
      await t.rejects(db.em().insert(Item, { id: 'two', ...item }), UniqueConstraintViolationException)
      await t.rejects(
        db.em().insert(Item, { id: 'three', ...item, key: 'other', accountId: 'nobody' }),
        ForeignKeyConstraintViolationException,
      )
      await t.rejects(db.em().execute('selec 1'), SyntaxErrorException)
      t.equal(await db.em().count(Item), 1)
    })

    await t.test('of 50 debits of 7 from 100 at once exactly 14 succeed', async (t) => {
      const db = await fresh(t)
      await db.em().insert(Account, { id: 'a', balance: 100 })
      const debit = () =>
        db.transaction((em) =>
          em.nativeUpdate(Account, { id: 'a', balance: { $gte: 7 } }, { balance: raw<number>('balance - ?', [7]) }),
        )
      const rows = await Promise.all(Array.from({ length: 50 }, debit))
      t.equal(rows.filter((count) => count === 1).length, 14)
      t.equal((await db.em().findOneOrFail(Account, 'a')).balance, 2)
    })

    await t.test('workers that claim jobs at once never share one, and leave none', async (t) => {
      const db = await fresh(t)
      await db.em().insertMany(Account, jobs(40))
      const claim = (balance: number) =>
        db.transaction(async (em) => {
          const options = { orderBy: { id: 'asc' }, limit: 3, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE } as const
          const claimed = await em.find(Account, { balance: 0 }, options)
          for (const job of claimed) job.balance = balance
          return claimed.map((job) => job.id)
        })
      const worker = async (number: number) => {
        const mine: string[] = []
        for (let claimed = await claim(number); claimed.length > 0; claimed = await claim(number)) mine.push(...claimed)
        return mine
      }
      const claimed = (await Promise.all([1, 2, 3, 4, 5].map(worker))).flat()
      t.equal(claimed.length, 40)
      t.equal(new Set(claimed).size, 40)
    })

    await t.test('an upsert inserts, then updates', async (t) => {
      const db = await fresh(t)
      await db.em().upsert(Account, { id: 'a', balance: 1 })
      await db.em().upsert(Account, { id: 'a', balance: 2 })
      t.same(await db.query('select id, balance from conformance_accounts'), [{ id: 'a', balance: 2 }])
    })

    await t.test('of 50 callers at once one consumes a single-use thing', async (t) => {
      const db = await fresh(t)
      const row = { settings: {}, done: false, createdAt: new Date() }
      await db.em().insertMany(Item, [
        { id: 'one', key: 'delete', ...row },
        { id: 'two', key: 'mark', ...row },
        { id: 'three', key: 'bystander', ...row },
      ])
      const consume = () => db.transaction((em) => consumeOnce(em, Item, { id: 'one', done: false }))
      const mark = () => markOnce(db.em(), Item, { id: 'two', usedAt: null }, { usedAt: new Date() })
      for (const work of [consume, mark]) {
        const results = await Promise.all(Array.from({ length: 50 }, work))
        t.equal(results.filter(Boolean).length, 1)
      }
      t.equal(await db.em().count(Item), 2)
      t.equal(await db.em().count(Item, { usedAt: null }), 1)
    })

    await t.test(
      'of 50 callers that share commits one consumes a single-use thing, and who fails undoes itself',
      async (t) => {
        const db = await fresh(t)
        await db.execute('insert into conformance_accounts (id, balance) values (?, ?)', ['shared', 1])
        const outcomes = await Promise.allSettled(
          Array.from({ length: 50 }, (_, number) =>
            db.groupCommit(async ({ query, execute }) => {
              await execute('insert into conformance_accounts (id, balance) values (?, ?)', [`caller${number}`, number])
              const won = await execute('update conformance_accounts set balance = 0 where id = ? and balance = 1', [
                'shared',
              ])
              if (won !== 1) throw new Error('too late')
              return query<{ balance: number }>('select balance from conformance_accounts where id = ?', ['shared'])
            }),
          ),
        )
        const winners = outcomes.filter((outcome) => outcome.status === 'fulfilled')
        t.same(
          winners.map(({ value }) => value),
          [[{ balance: 0 }]],
        )
        t.match(
          outcomes.find(({ status }) => status === 'rejected'),
          { reason: { message: 'too late' } },
        )
        t.same(await db.query('select count(*) as count from conformance_accounts'), [{ count: 2 }])
        await t.rejects(db.groupCommit(({ execute }) => execute('insert into nowhere values (?)', [1])))
        t.equal(await db.groupCommit(async () => 'after'), 'after', 'the next one works')
        await db.transaction((em) => em.insert(Account, { id: 'beside', balance: 1 }))
      },
    )

    await t.test('a condition that is undefined by mistake consumes nothing', async (t) => {
      const db = await fresh(t)
      await db.em().insert(Item, { id: 'one', key: 'k', settings: {}, done: false, createdAt: new Date() })
      const id = undefined as unknown as string
      t.not(await consumeOnce(db.em(), Item, { id }).catch(() => false), true)
      t.not(await markOnce(db.em(), Item, { id, usedAt: null }, { usedAt: new Date() }).catch(() => false), true)
      t.equal(await db.em().count(Item, { usedAt: null }), 1)
    })

    await t.test('a transaction that fails leaves nothing, and the next one works', async (t) => {
      const db = await fresh(t)
      await t.rejects(
        db.transaction(async (em) => {
          await em.insert(Account, { id: 'a', balance: 1 })
          throw new Error('changed my mind')
        }),
        /changed my mind/,
      )
      await t.rejects(
        db.transaction(async (em) => {
          await em.insert(Account, { id: 'a', balance: 1 })
          await em.insert(Account, { id: 'a', balance: 1 })
        }),
        UniqueConstraintViolationException,
      )
      t.equal(await db.em().count(Account), 0)
      await db.transaction((em) => em.insert(Account, { id: 'a', balance: 1 }))
      t.equal(await db.em().count(Account), 1)
    })

    await t.test('a transaction within one ends alone', async (t) => {
      const db = await fresh(t)
      await db.transaction(async (em) => {
        await em.insert(Account, { id: 'outer', balance: 1 })
        const inner = em.transactional(async (inner) => {
          await inner.insert(Account, { id: 'inner', balance: 1 })
          throw new Error('only this one')
        })
        await t.rejects(inner, /only this one/)
      })
      t.same(await db.query('select id from conformance_accounts'), [{ id: 'outer' }])
    })

    await t.test('another entity manager inside a transaction never waits for ever', async (t) => {
      const db = await fresh(t)
      await db.em().insert(Account, { id: 'a', balance: 1 })
      const outcome = db.transaction(async (em) => {
        await em.nativeUpdate(Account, 'a', { balance: 2 })
        return Promise.allSettled([
          db.em().findOneOrFail(Account, 'a'),
          db.query('select balance from conformance_accounts'),
        ])
      })
      const [read, queried] = await inTime(outcome)
      if (read.status === 'fulfilled') t.equal(read.value.balance, 1, 'it sees what is committed')
      else t.equal(read.reason.code, 'database_busy')
      if (queried.status === 'fulfilled') t.same(queried.value, [{ balance: 1 }])
      else t.equal(queried.reason.code, 'database_busy')
      t.equal((await db.em().findOneOrFail(Account, 'a')).balance, 2)
    })

    await t.test('a migration that fails leaves no trace', async (t) => {
      const db = await create()
      const bad = {
        name: '9999_bad',
        sqlite: ['create table half (id text)', 'nonsense'],
        postgres: ['create table half (id text)', 'nonsense'],
      }
      await t.rejects(openDatabase(await db(), [...migrations, bad]), SyntaxErrorException)
      if (!supports.several) return
      const again = await open(t, await db())
      await t.rejects(again.query('select * from half'))
      t.equal((await again.query('select name from schema_migrations')).length, 1)
    })

    if (supports.several) {
      await t.test('connections that migrate at once migrate once', async (t) => {
        const connect = await create()
        const databases = await Promise.all(
          Array.from({ length: 4 }, async () => {
            const driver = await connect()
            return open(t, driver)
          }),
        )
        for (const db of databases) t.equal((await db.query('select name from schema_migrations')).length, 1)
      })

      await t.test('a database from a newer program is refused', async (t) => {
        const connect = await create()
        const newer = { name: '9999_from_the_future', sqlite: [], postgres: [] }
        await (await openDatabase(await connect(), [...migrations, newer])).close()
        await t.rejects(openDatabase(await connect(), migrations), {
          name: 'StartupError',
          message: /newer Gameyard.*9999_from_the_future/,
        })
        await open(t, await connect(), [newer])
      })

      await t.test('two connections see what the other committed and keep each other from overdrawing', async (t) => {
        const connect = await create()
        const both = [await open(t, await connect()), await open(t, await connect())] as const
        await both[0].em().insert(Account, { id: 'a', balance: 100 })
        t.equal((await both[1].em().findOneOrFail(Account, 'a')).balance, 100)
        const debit = (db: Database) =>
          db.transaction(async (em) => {
            const account = await em.findOneOrFail(Account, 'a', { lockMode: LockMode.PESSIMISTIC_WRITE })
            if (account.balance < 7) return 0
            account.balance -= 7
            return 1
          })
        const done = await Promise.all(Array.from({ length: 30 }, (_, index) => debit(both[index % 2 ? 1 : 0])))
        t.equal(
          done.reduce((sum: number, count) => sum + count, 0),
          14,
        )
        t.same(await both[1].query('select balance from conformance_accounts'), [{ balance: 2 }])
      })
    }

    await t.test('a backup is one moment of the database, as a file or as rows', async (t) => {
      const dir = await mkdtemp(join(tmpdir(), 'gameyard-conformance-'))
      t.teardown(() => rm(dir, { recursive: true, force: true }))
      const driver = await (await create())()
      await open(t, driver)
      const file = join(dir, 'copy')
      if (supports.backup) {
        await driver.backup(file)
        t.ok((await stat(file)).size > 0)
      } else {
        await t.rejects(driver.backup(file), { code: 'backup_unsupported' })
        t.ok(driver.snapshot, 'a backup reads the rows of one moment instead')
        await driver.snapshot?.(async (query) => {
          const count = () => query('select count(*) as count from conformance_accounts', [])
          const before = await count()
          await driver.execute('insert into conformance_accounts (id, balance) values (?, ?)', ['later', 1])
          t.same(await count(), before)
        })
      }
    })

    await t.test('a closed database rejects', async (t) => {
      const db = await openDatabase(await (await create())(), migrations)
      await db.close()
      await t.rejects(inTime(db.ping()))
    })

    await t.test('closing waits for no statement that is still on its way to a connection', async (t) => {
      const connect = await create()
      for (let delay = 0; delay < 12; delay++) {
        const db = await openDatabase(await connect(), migrations)
        const late = Promise.allSettled([
          db.em().nativeUpdate(Account, { id: 'nobody' }, { balance: 1 }),
          db.em().findOne(Account, { id: 'nobody' }),
          db.query('select 1'),
          db.transaction(async (em) => em.findOne(Account, { id: 'nobody' })),
        ])
        for (let tick = 0; tick < delay; tick++) await new Promise(setImmediate)
        await t.resolves(inTime(db.close()), `closed ${delay} ticks later`)
        await t.resolves(inTime(late), 'and each statement ended, one way or the other')
      }
    })
  })
}

const openDatabase = (driver: DatabaseDriver, migrations: Migration[]) =>
  Database.open(driver, { entities, migrations, log: createLog('silent'), clock: systemClock })

const jobs = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: `job-${String(index).padStart(3, '0')}`, balance: 0 }))

/** Rejects when a step hangs, so that the suite names the test before tap's own timeout. */
function inTime<T>(promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`still waiting after ${PATIENCE_MS} ms`)), PATIENCE_MS)
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

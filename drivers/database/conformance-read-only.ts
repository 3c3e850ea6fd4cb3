import type { Test } from 'tap'
import type { Database } from '../../core/data/database.ts'
import { Account } from './conformance-entities.ts'

/** The part of the suite about `setReadOnly`. @param fresh opens a new, empty database */
export async function testReadOnly(t: Test, fresh: (t: Test) => Promise<Database>): Promise<void> {
  await t.test('writing stops and goes on', async (t) => {
    const db = await fresh(t)
    const account = (id: string) => ({ id, balance: 1 })
    const ids = async () =>
      (await db.query<Account>('select id from conformance_accounts order by id')).map(({ id }) => id)
    // A transaction that is open when writing stops still commits, and the call waits for it.
    const { promise: entered, resolve: enter } = Promise.withResolvers<void>()
    const { promise: left, resolve: leave } = Promise.withResolvers<void>()
    const open = db.transaction(async (em) => {
      await em.insert(Account, account('a'))
      enter()
      await left
    })
    await entered
    const stopped = db.setReadOnly(true)
    leave()
    await Promise.all([open, stopped])
    t.same(await ids(), ['a'])

    const refused = { code: 'writes_stopped', statusCode: 503, headers: { 'retry-after': String } }
    await t.rejects(db.execute("delete from conformance_accounts where id = 'a'"), refused)
    await t.rejects(db.em().insert(Account, account('b')), refused)
    await t.rejects(
      db.transaction((em) => em.insert(Account, account('b'))),
      refused,
    )
    await t.rejects(
      db.groupCommit(({ execute }) => execute('delete from conformance_accounts')),
      refused,
    )
    t.equal((await db.em().findOneOrFail(Account, 'a')).balance, 1)
    t.same(await ids(), ['a'])

    await db.setReadOnly(false)
    await db.em().insert(Account, account('b'))
    await db.execute("delete from conformance_accounts where id = 'a'")
    t.same(await ids(), ['b'])
  })
}

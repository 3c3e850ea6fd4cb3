import type { Test } from 'tap'
import type { Database } from '../../core/data/database.ts'

/** The part of the suite about `groupQuery`. @param fresh opens a new, empty database */
export async function testGroupQuery(t: Test, fresh: (t: Test) => Promise<Database>): Promise<void> {
  await t.test('look-ups that share a transaction see each commit before them, and fail alone', async (t) => {
    const db = await fresh(t)
    const balanceOf = async (id: string) =>
      (await db.groupQuery<{ balance: number }>('select balance from conformance_accounts where id = ?', [id]))[0]
    await db.execute('insert into conformance_accounts (id, balance) values (?, ?)', ['a', 1])
    t.same(await Promise.all([balanceOf('a'), balanceOf('b')]), [{ balance: 1 }, undefined])
    const early = balanceOf('a')
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const [row] = await db.groupCommit(({ query }) =>
          query<{ balance: number }>(
            'update conformance_accounts set balance = balance + 1 where id = ? returning balance',
            ['a'],
          ),
        )
        t.ok(((await balanceOf('a'))?.balance ?? 0) >= (row?.balance ?? Number.POSITIVE_INFINITY))
      }),
    )
    t.ok(((await early)?.balance ?? 0) >= 1)
    const outcomes = await Promise.allSettled([balanceOf('a'), db.groupQuery('select nothing from nowhere')])
    t.match(outcomes, [{ value: { balance: 21 } }, { status: 'rejected' }])
    const faulty = 'select abs(balance - 9223372036854775807 - 22) as n from conformance_accounts where id = ?'
    t.match(
      await Promise.allSettled([db.groupQuery(faulty, ['a']), balanceOf('a')]),
      [{ status: 'rejected' }, { value: { balance: 21 } }],
      'also while it runs',
    )
    t.same(await balanceOf('a'), { balance: 21 })
  })
}

// Where saves count, and how they end: the owner's quota, the account, the game, the disk, and the two databases.
import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { StorageFull } from '../../../core/errors.ts'
import { OwnerQuota } from '../../../plugins/saves/owner-quota.ts'
import { Removal } from '../../../plugins/saves/removal.ts'
import { Retention } from '../../../plugins/saves/retention.ts'
import { Values } from '../../../plugins/saves/values/values.ts'
import { exportOf } from '../../kit/exports.ts'
import { inFull } from '../../kit/extent.ts'
import { faultyStorage } from '../../kit/fault-storage.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { until } from '../../kit/until.ts'
import { assertCountsHold } from '../quotas/recounting.ts'
import { startWithGame } from './kit.ts'

const DAY = 86_400_000
const forever = new AbortController().signal
const text = (bytes: string | Buffer) => ({ bytes: Buffer.from(bytes), contentType: 'text/plain' })

type World = Awaited<ReturnType<typeof startWithGame>>

const rowsOf = async ({ app }: World, table: string) =>
  Number((await app.db.query<{ n: number }>(`select count(*) as n from ${table}`))[0]?.n)

/** Returns the bytes that count for the owner of the game. */
async function counted(world: World): Promise<number> {
  await new OwnerQuota(world.app).count(forever)
  const kinds = await world.app.quotas.bytesByKind(world.owner.id)
  const bytes = kinds.find(({ kind }) => kind === 'saves')?.bytes ?? 0
  return (await totalOf(world)) === bytes ? bytes : Number.NaN
}

/** Returns the kept total of the game; 0 without one. */
async function totalOf({ app, game }: World): Promise<number> {
  const sql = 'select counted_bytes as bytes from save_totals where game_id = ?'
  return Number((await app.db.query<{ bytes: number | string }>(sql, [game.id]))[0]?.bytes ?? 0)
}

/** The whole life of saves, on one database. */
async function life(t: Test, world: World): Promise<void> {
  const { ada, bob, app, game, owner, platform } = world
  await ada.put('a', 'x'.repeat(100))
  await ada.put('a', 'x'.repeat(30_000))
  await bob.put('b', 'x'.repeat(50))
  t.equal(await counted(world), 30_150, 'with earlier versions, for the owner of the game')
  t.equal(await counted(world), 30_150, 'once')
  await bob.delete('b')
  t.equal(await counted(world), 30_150, 'a deleted save can be restored')
  await assertCountsHold(t, app)
  t.match((await app.quotas.usage(owner.id)).largest, [{ kind: 'saves', bytes: 30_150, removable: false }])

  platform.clock.advance(29 * DAY)
  await new Retention(app).sweep(forever)
  t.equal(await counted(world), 30_150)
  platform.clock.advance(2 * DAY)
  await new Retention(app).sweep(forever)
  t.equal(await counted(world), 30_000, 'the replaced version and the deleted save are gone after 30 days')
  t.equal(await rowsOf(world, 'save_versions'), 1)
  await assertCountsHold(t, app)

  const at = { gameId: game.id, playerId: bob.id }
  const all = await Promise.all(Array.from({ length: 20 }, (_, index) => app.saves.put(at, 'p', text(`${index}`))))
  t.equal(new Set(all.map(({ save }) => save.version)).size, 20, 'changes at once get versions of their own')
  t.equal((await app.saves.versions(at, 'p')).length, 5)

  const file = await exportOf(app, ada.id)
  t.match(file.saves, [{ game: { id: game.id, title: 'Pong' }, saves: [{ key: 'a', version: 2, text: /^x{30000}$/ }] }])
  const begin = () => app.identity.deletion.data.begin(ada.id, platform.clock.now())
  const first = begin()
  t.throws(begin, { code: 'export_under_way', statusCode: 409 }, 'one at a time')
  let given = first
  for await (const part of first) {
    if (part.length > 31_000) t.fail('one value at a time')
    if (String(part) === '}\n') given = begin()
  }
  t.not(given, first, 'the next one may begin with the last line')
  await until(() => first.closed)
  t.throws(begin, { code: 'export_under_way' }, 'and does not end with the stream before it')
  await once(given.destroy(), 'close')
  t.ok(await exportOf(app, ada.id), 'one that was given up holds nothing')
  await app.identity.deletion.remove(ada.id)
  // It is read before anything counts again, which would correct it.
  const [left] = await app.db.query<{ bytes: number | string | null }>(
    'select sum(counted_bytes) as bytes from save_usage where game_id = ?',
    [game.id],
  )
  t.equal(await totalOf(world), Number(left?.bytes ?? 0), 'the total of the game is without them')
  t.equal((await app.db.query('select * from saves where player_id = ?', [ada.id])).length, 0)
  t.equal((await app.db.query('select * from save_versions where player_id = ?', [ada.id])).length, 0)
  await t.rejects(app.saves.put({ gameId: game.id, playerId: ada.id }, 'late', text('1')), { code: 'unauthorized' })
  t.equal((await app.db.query('select * from save_usage where player_id = ?', [ada.id])).length, 0, 'and stay away')
  await assertCountsHold(t, app, 'and what counted for the owner')
  t.ok((await counted(world)) < 20)

  const right = await counted(world)
  for (const sql of ['update save_totals set counted_bytes = 1000', 'delete from save_totals']) {
    await app.db.execute(sql)
    await assertCountsHold(t, app, 'the quota does not depend on the totals')
    t.equal(await totalOf(world), right, 'the recount corrects a wrong total of a game')
  }

  await app.games.deletion.remove(owner.id, game.id)
  platform.clock.advance(31 * DAY)
  await app.games.deletion.purge(forever)
  await new Removal(app).purge(game.id, forever)
  for (const table of ['saves', 'save_versions', 'save_usage', 'save_totals'])
    t.equal(await rowsOf(world, table), 0, table)
  await assertCountsHold(t, app, 'the end of the game')
}

t.test('saves live and end on SQLite', async (t) => life(t, await startWithGame(t)))

t.test('saves live and end on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  await life(t, await startWithGame(t, { config: { database: { driver: 'postgres', url }, secret: 'x'.repeat(40) } }))
})

/** Inserts players with 100 bytes each that are not counted yet. */
async function addUncounted({ app, game }: World, players: number): Promise<void> {
  await app.db.execute(
    `with recursive n (n) as (select 1 union all select n + 1 from n where n < ?)
     insert into save_usage (player_id, game_id, keys, bytes, kept_bytes, counted_bytes, counted, version_floor)
     select 'p' || n, ?, 1, 100, 100, 0, false, 1 from n where true
     on conflict (player_id, game_id) do update set kept_bytes = save_usage.kept_bytes + 100, counted = false`,
    [players, game.id],
  )
}

t.test('other work gets a turn between the batches of a count', async (t) => {
  const world = await startWithGame(t)
  await addUncounted(world, 401)
  const counting = new OwnerQuota(world.app).count(forever)
  const total = await nextTurn().then(() => totalOf(world))
  t.ok(total < 40_100, 'the first batch is counted')
  await counting
  t.equal(await counted(world), 40_100)
})

inFull(t)?.test('a count takes time in proportion to what changed', async (t) => {
  const world = await startWithGame(t)
  const cost = async (players: number) => {
    await addUncounted(world, players)
    const before = process.threadCpuUsage()
    await new OwnerQuota(world.app).count(forever)
    const { user, system } = process.threadCpuUsage(before)
    return user + system
  }
  await cost(2000)
  const [few, many] = [await cost(2000), await cost(40_000)]
  t.comment(`2,000 players: ${few / 1000} ms; 40,000: ${many / 1000} ms`)
  t.ok(many < 50 * few, 'twenty times as many take about twenty times as long, not four hundred times')
  const before = process.threadCpuUsage()
  await world.app.quotas.usage(world.owner.id)
  const usage = process.threadCpuUsage(before)
  t.ok(usage.user + usage.system < few, 'the usage of the owner reads the total')
})

t.test('when the storage of the owner is full, nothing new is kept', async (t) => {
  const world = await startWithGame(t, { config: { limits: { storageBytesPerPlayer: 1000 } } })
  const { ada, platform } = world
  t.equal((await ada.put('a', 'x'.repeat(2000))).status, 201)
  await counted(world)
  platform.clock.advance(10_000)
  t.match(await ada.put('a', '1'), {
    status: 403,
    body: { error: { code: 'quota_exceeded' }, quota: 'storageBytesPerPlayer', used: 2000, limit: 1000 },
  })
  t.equal((await ada.get('a')).text.length, 2000)
  t.equal((await ada.delete('a')).status, 204)
})

t.test('a large save goes into the database when the storage has no room', async (t) => {
  const { app } = await startWithGame(t)
  const { db, clock, log, storage } = app
  const bytes = Buffer.alloc(50_000, 'x')
  const full = faultyStorage(storage, { failOn: 1, error: new StorageFull() })
  const place = await new Values({ db, clock, log, storage: full }).place(bytes)
  t.match(place, { sha256: null, value: bytes })
  const away = faultyStorage(storage, { failOn: 1 })
  await t.rejects(new Values({ db, clock, log, storage: away }).place(bytes), { code: 'storage_unavailable' })
})

t.test('a large save whose bytes are lost is an error of the server', async (t) => {
  const { app, ada } = await startWithGame(t)
  await ada.put('a', 'x'.repeat(50_000))
  for await (const { key } of app.storage.list('saves/')) await app.storage.delete(key)
  t.match(await ada.get('a'), { status: 500, body: { error: { code: 'internal' } } })
})

// Saves over HTTP, on a game's own origin: values, versions, conditions and limits.
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { Retention } from '../../../plugins/saves/retention.ts'
import { SaveRows } from '../../../plugins/saves/save-rows.ts'
import { blobKey } from '../../../plugins/saves/values/blobs.ts'
import { GarbageCollector } from '../../../plugins/saves/values/garbage-collector.ts'
import { RecentValues } from '../../../plugins/saves/values/recent-values.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { startWithGame } from './kit.ts'

const DAY = 86_400_000

t.test('a save comes back as it was sent, with its version as entity tag', async (t) => {
  const { ada, bob } = await startWithGame(t)
  const text = '{ "level": 2,\n "name": "Zoë" }'
  const made = await ada.put('slot.1', text, { 'content-type': 'application/json; charset=utf-8' })
  t.match(made, { status: 201, body: { key: 'slot.1', version: 1, size: Buffer.byteLength(text), updatedAt: String } })
  const versionHeaders = { etag: '"1"', 'service-save-version': '1', 'cache-control': 'no-store, no-transform' }
  t.match(made.headers, versionHeaders)
  const read = await ada.get('slot.1')
  t.equal(read.text, text)
  t.match(read, {
    status: 200,
    headers: { ...versionHeaders, 'content-type': 'application/json; charset=utf-8' },
  })
  const head = await ada.request('HEAD', '/slot.1')
  t.match(head, {
    status: 200,
    text: '',
    headers: { ...versionHeaders, 'content-length': String(Buffer.byteLength(text)) },
  })
  t.match(await ada.get('slot.1', { 'if-none-match': '"1"' }), { status: 304, text: '', headers: versionHeaders })
  t.match(await ada.put('slot.1', '3'), { status: 200, body: { version: 2, size: 1 } })
  t.match(await ada.list(), {
    status: 200,
    body: { saves: [{ key: 'slot.1', version: 2, size: 1, contentType: 'text/plain' }], usedBytes: 1 },
  })
  t.equal((await ada.list()).body.limitBytes, 16 * 1024 * 1024)
  t.match(await bob.get('slot.1'), { status: 404, body: { error: { code: 'no_such_save' } } }, 'it is of one player')
  t.same((await bob.list()).body.saves, [])
})

t.test('a value that was read lately is never an old one', async (t) => {
  const { ada, app, game } = await startWithGame(t)
  const value = async () => (await ada.get('a')).text
  await ada.put('a', 'one')
  t.same([await value(), await value()], ['one', 'one'])
  await ada.put('a', 'two')
  t.same([await value(), await value()], ['two', 'two'])
  await app.db.groupCommit(async (statements) => {
    // As another process writes.
    const rows = new SaveRows(statements, { gameId: game.id, playerId: ada.id })
    const at = new Date()
    const version = { version: 3, size: 5, contentType: 'text/plain' }
    await rows.insertVersion('a', { ...version, createdAt: at }, { sha256: null, value: Buffer.from('three') })
    await rows.setCurrent('a', { ...version, updatedAt: at, historyDueAt: null })
  })
  t.equal(await value(), 'three')
  await ada.restore('a', 1)
  t.equal(await value(), 'one')
  await ada.delete('a')
  t.equal((await ada.get('a')).status, 404)
  await ada.put('a', 'four')
  t.equal(await value(), 'four')
})

t.test('the values that were read last are kept, up to a number of bytes', async (t) => {
  const recent = new RecentValues(3000)
  const at = (number: number) => [{ gameId: 'gam', playerId: 'ply' }, `key${number}`] as const
  const bytes = Buffer.alloc(600, 'x')
  for (const number of [1, 2, 3]) recent.keep(...at(number), { version: 1, bytes })
  t.equal(recent.bytes, 3000)
  t.match(recent.get(...at(1)), { version: 1 })
  recent.keep(...at(1), { version: 2, bytes })
  recent.keep(...at(4), { version: 1, bytes })
  t.equal(recent.get(...at(2)), undefined, 'the one that was not read for longest')
  t.same([recent.get(...at(1))?.version, recent.get(...at(3))?.version], [2, 1])
  t.equal(recent.bytes, 3000)
  recent.keep(...at(5), { version: 1, bytes: Buffer.alloc(3000) })
  t.equal(recent.bytes, 0, 'one that is too large is not kept')
})

t.test('any media type, no type and no bytes at all are saves', async (t) => {
  const { ada, app, host } = await startWithGame(t)
  for (const type of [
    'image/png',
    'text/html',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
  ]) {
    t.equal((await ada.put('any', 'a=1', { 'content-type': type })).status < 300, true, type)
    const read = await ada.get('any')
    t.match(read, { text: 'a=1', headers: { 'content-type': type, 'x-content-type-options': 'nosniff' } })
    t.match(read.headers['content-security-policy'], /^sandbox/, 'it never becomes a document of the game')
  }
  t.equal((await ada.put('none', 'x', { 'content-type': undefined })).status, 201)
  t.equal((await ada.get('none')).headers['content-type'], 'application/octet-stream')
  t.match(await ada.request('PUT', '/empty'), { status: 201, body: { size: 0 } })
  t.equal((await ada.get('empty')).text, '')
  t.match(await ada.put('any', 'x', { 'content-encoding': 'gzip' }), { status: 415 })
  t.match(await ada.put('any', 'x', { 'content-type': 'no type' }), { status: 415 })
  const cookie = [...ada.player.cookiesOf(host)].map(([name, value]) => `${name}=${value}`).join('; ')
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
  const headers = { host, cookie, origin: `http://${host}`, 'content-type': 'application/octet-stream' }
  await app.inject({ method: 'PUT', url: '/__service/saves/bytes', headers, payload: bytes })
  const read = await app.inject({ url: '/__service/saves/bytes', headers: { host, cookie } })
  t.ok(read.rawPayload.equals(bytes))
})

t.test('a change holds to its conditions', async (t) => {
  const { ada } = await startWithGame(t)
  t.match(await ada.put('a', '1', { 'if-match': '"1"' }), {
    status: 412,
    body: { error: { code: 'save_conflict' }, version: null, updatedAt: null },
  })
  t.equal((await ada.put('a', '1', { 'if-none-match': '*' })).status, 201)
  const refused = await ada.put('a', '2', { 'if-none-match': '*' })
  t.match(refused, { status: 412, body: { error: { code: 'save_conflict' }, version: 1, updatedAt: String } })
  t.match(await ada.put('a', '2', { 'if-match': '"1"' }), { status: 200, body: { version: 2 } })
  t.match(await ada.put('a', '3', { 'if-match': '"1"' }), { status: 412, body: { version: 2 } })
  for (const tag of ['"x2"', '"2-"', '"-2"', 'W/"1"', '"12-gzip"', '""'])
    t.match(await ada.put('a', '3', { 'if-match': tag }), { status: 412 }, `${tag} names another version`)
  t.match(await ada.put('a', '3', { 'if-match': '"7", "2"' }), { status: 200, body: { version: 3 } })
  t.match(await ada.put('a', '4', { 'if-match': '*' }), { status: 200, body: { version: 4 } })
  t.match(await ada.put('a', '5', { 'if-match': '4' }), { status: 400, body: { error: { code: 'invalid_request' } } })
  t.match(await ada.delete('a', { 'if-match': '"3"' }), { status: 412, body: { version: 4 } })
  t.equal((await ada.get('a')).text, '4')
  t.match(await ada.delete('a', { 'if-match': '"4"' }), { status: 204, headers: { 'service-save-version': '4' } })
  t.match(await ada.delete('a'), { status: 404, body: { error: { code: 'no_such_save' } } })
})

t.test('what proxies make of a version still is the version', async (t) => {
  const { ada } = await startWithGame(t)
  const version = (number: number) => ({ 'service-save-version': String(number) })
  t.match(await ada.put('a', '1', version(0)), { status: 201, headers: version(1) }, 'without If-None-Match')
  t.match(await ada.put('a', '2', version(0)), { status: 412, body: { version: 1 } })
  t.match(await ada.put('a', '2', version(1)), { status: 200, headers: version(2) }, 'without If-Match')
  t.match(await ada.put('a', '3', version(1)), { status: 412, body: { version: 2 } })
  t.match(await ada.put('a', '3', { ...version(2), 'if-match': '"1"' }), { status: 412 }, 'both must hold')
  t.match(await ada.put('a', '3', { ...version(1), 'if-match': '"2"' }), { status: 412 })
  t.match(await ada.put('a', '3', { ...version(2), 'if-match': '*' }), { status: 200 })
  t.match(await ada.put('a', '4', { 'service-save-version': '3-gzip' }), { status: 400 })
  // nginx and Cloudflare; Apache; Caddy; Cloudflare before a compressing server; Jetty.
  for (const form of ['W/"V"', '"V-gzip"', '"V-zstd"', 'W/"V-br"', '"V--gzip"', '"V;br"']) {
    const tag = form.replace('V', '3')
    t.match(await ada.get('a', { 'if-none-match': tag }), { status: 304 }, tag)
  }
  t.match(await ada.put('a', '4', { 'if-match': 'W/"3"' }), { status: 200 })
  t.match(await ada.put('a', '5', { 'if-match': '"9", "4-gzip"' }), { status: 200 })
  t.match(await ada.delete('a', version(4)), { status: 412 })
  t.match(await ada.delete('a', version(5)), { status: 204 })
})

t.test('a version that lost a conflict outlives five more saves', async (t) => {
  const { ada, platform, app, game } = await startWithGame(t)
  const owner = { gameId: game.id, playerId: ada.id }
  const kept = async () => (await app.saves.versions(owner, 'a')).map(({ version }) => version)
  await ada.put('a', 'level 50')
  await ada.put('a', 'level 4', { 'service-save-conflict': '1' })
  for (let level = 5; level < 12; level++) await ada.put('a', `level ${level}`)
  t.same(await kept(), [9, 8, 7, 6, 5, 1])
  for (let change = 0; change < 12; change++) await ada.put('a', 'again', { 'service-save-conflict': '1' })
  t.same(await kept(), [21, 20, 19, 18, 17, 16], 'five at most')
  platform.clock.advance(31 * DAY)
  await new Retention(app).sweep(new AbortController().signal)
  t.same(await kept(), [21], 'and no longer than others')
})

t.test('of twenty changes of one version at once, one wins', async (t) => {
  const { ada } = await startWithGame(t)
  await ada.put('a', '0')
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => ada.put('a', String(index), { 'if-match': '"1"' })),
  )
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  t.equal(answers.filter(({ status }) => status === 412).length, 19)
  const all = await Promise.all(Array.from({ length: 20 }, (_, index) => ada.put('a', String(index))))
  t.same(new Set(all.map(({ body }) => body.version)).size, 20, 'and every other change has a version of its own')
})

t.test('versions only grow, also when a save is deleted and made again', async (t) => {
  const { ada, platform, app, game } = await startWithGame(t)
  for (const value of ['1', '2', '3']) await ada.put('a', value)
  await ada.delete('a')
  t.match(await ada.get('a'), { status: 404 })
  t.match(await ada.put('a', '4'), { status: 201, body: { version: 4 } })
  await ada.delete('a')
  platform.clock.advance(31 * DAY)
  await new Retention(app).sweep(new AbortController().signal)
  const at = { gameId: game.id, playerId: ada.id }
  await t.rejects(app.saves.versions(at, 'a'), { code: 'no_such_save' }, 'nothing is kept of it')
  const { save } = await app.saves.put(at, 'a', { bytes: Buffer.from('5'), contentType: 'text/plain' })
  t.equal(save.version, 5)
})

t.test('the last five versions are kept for 30 days, and can be restored', async (t) => {
  const { ada } = await startWithGame(t)
  for (let value = 1; value <= 7; value++) await ada.put('a', String(value), { 'content-type': `text/v${value}` })
  const { body } = await ada.versions('a')
  t.equal(body.key, 'a')
  t.match(
    body.versions,
    [7, 6, 5, 4, 3].map((version) => ({ version, size: 1, contentType: `text/v${version}`, current: version === 7 })),
  )
  t.equal(body.versions.length, 5)
  t.match(await ada.restore('a', 4), { status: 200, body: { key: 'a', version: 8 } })
  t.match(await ada.get('a'), { text: '4', headers: { etag: '"8"', 'content-type': 'text/v4' } })
  t.match(await ada.restore('a', 2), { status: 404, body: { error: { code: 'no_such_save' } } })
  await ada.delete('a')
  t.match((await ada.versions('a')).body.versions, [{ version: 8, current: false }])
  t.match(await ada.restore('a', 7), { status: 200, body: { version: 9 } }, 'of a deleted save too')
  t.match(await ada.get('a'), { text: '7' })
  t.match(await ada.versions('b'), { status: 404, body: { error: { code: 'no_such_save' } } })
  t.match(await ada.request('POST', '/a/restore', { version: 0 }), { status: 400 })
  t.match(await ada.request('POST', '/a/restore', { version: 2 ** 40 }), { status: 404 })
})

t.test('limits of a value, of the keys and of the sum refuse, and change nothing', async (t) => {
  const limits = { saveBytes: 1000, savesPerPlayer: 3, savesTotalBytes: 2000 }
  const { ada, bob } = await startWithGame(t, { config: { limits } })
  t.match(await ada.put('large', 'x'.repeat(1001)), { status: 413, body: { error: { code: 'save_too_large' } } })
  t.same((await ada.list()).body.saves, [])
  await ada.put('a', 'x'.repeat(1000))
  await ada.put('b', 'x'.repeat(900))
  t.match(await ada.put('c', 'x'.repeat(101)), { status: 507, body: { error: { code: 'saves_full' } } })
  t.equal((await ada.list()).body.usedBytes, 1900)
  t.equal((await ada.put('c', 'x'.repeat(100))).status, 201)
  t.match(await ada.put('d', ''), { status: 507, body: { error: { code: 'saves_full' } } }, 'a fourth key')
  t.equal((await ada.put('b', 'x'.repeat(10))).status, 200, 'a smaller value fits')
  t.equal((await ada.get('c')).text.length, 100)
  t.equal((await bob.put('a', 'x'.repeat(1000))).status, 201, 'the limits are of each player')
  await ada.delete('b')
  t.match(await ada.restore('b', 1), { status: 404 }, 'the version before had no room beside the others')
  t.match(await ada.restore('b', 2), { status: 200, body: { size: 10 } })
  for (const key of ['', '.a', '-a', 'a/b', 'a b', 'x'.repeat(65), '%00']) {
    t.ok([400, 404].includes((await ada.put(key, '1')).status), key)
  }
  t.equal((await ada.delete('a')).status, 204)
  t.equal((await ada.put(`A${'.'.repeat(63)}`, '1')).status, 201, 'a key of 64 characters')
})

t.test('what is kept of deleted saves is bounded', async (t) => {
  const limits = { saveBytes: 100, savesPerPlayer: 3, savesTotalBytes: 200 }
  const { ada, app } = await startWithGame(t, { config: { limits } })
  for (let round = 0; round < 40; round++) {
    await ada.put(`key${round}`, 'x'.repeat(100))
    await ada.delete(`key${round}`)
  }
  const [row] = await app.db.query<{ n: number; bytes: number }>(
    'select count(*) as n, sum(size) as bytes from save_versions',
  )
  t.ok(Number(row?.n) <= 4, `${row?.n} versions`)
  const [usage] = await app.db.query<{ kept: number; bytes: number }>(
    'select kept_bytes as kept, bytes from save_usage where player_id = ?',
    [ada.id],
  )
  t.match(usage, { kept: Number(row?.bytes), bytes: 0 })
  t.ok((await ada.put('key0', '1')).body.version > 1, 'versions still grow')
})

t.test('what is kept of saves that became smaller is bounded, the oldest goes first', async (t) => {
  const limits = { saveBytes: 100, savesPerPlayer: 9, savesTotalBytes: 100 }
  const { ada, app, platform } = await startWithGame(t, { config: { limits } })
  for (const key of ['a', 'b', 'c']) {
    for (let round = 0; round < 4; round++) {
      platform.clock.advance(1000)
      await ada.put(key, 'x'.repeat(97))
    }
    await ada.put(key, '1')
  }
  const kept = async (key: string) =>
    (await ada.versions(key)).body.versions.map(({ version }: { version: number }) => version)
  t.same([await kept('a'), await kept('b'), await kept('c')], [[5], [5], [5, 4]])
  const [usage] = await app.db.query<{ kept: number; bytes: number }>(
    'select kept_bytes as kept, bytes from save_usage',
  )
  t.match(usage, { kept: 97 + 3, bytes: 3 })
  const due = await app.db.query('select key from saves where history_due_at is not null order by key')
  t.same(due, [{ key: 'c' }], 'and the rest is due later')
})

t.test('of earlier days the last version of each is kept, for 30 days', async (t) => {
  const { ada, app, game, platform } = await startWithGame(t)
  const at = { gameId: game.id, playerId: ada.id }
  const put = (text: string) => app.saves.put(at, 'a', { bytes: Buffer.from(text), contentType: 'text/plain' })
  const kept = async () => (await app.saves.versions(at, 'a')).map(({ version }) => version)
  platform.clock.advance(DAY - (platform.clock.now().getTime() % DAY))
  for (let day = 0; day < 40; day++) {
    for (let round = 0; round < 3; round++) await put(`${day}/${round}`)
    platform.clock.advance(DAY)
  }
  const days = Array.from({ length: 29 }, (_, index) => 114 - 3 * index)
  t.same(await kept(), [120, 119, 118, 117, 116, ...days])
  platform.clock.advance(5 * DAY)
  await new Retention(app).sweep(new AbortController().signal)
  t.equal((await kept()).at(-1), 48, 'none that another replaced more than 30 days ago')
})

/** Returns the bytes in the storage, and the sums of a player. */
async function keptBy({ app }: Awaited<ReturnType<typeof startWithGame>>) {
  const stored = await Array.fromAsync(app.storage.list('saves/'))
  const [usage] = await app.db.query<{ kept: number; bytes: number }>(
    'select kept_bytes as kept, bytes from save_usage',
  )
  return {
    stored: stored.reduce((sum, { size }) => sum + size, 0),
    kept: Number(usage?.kept),
    live: Number(usage?.bytes),
  }
}

const LARGE = 20_000
const large = (stamp: string) => Buffer.alloc(LARGE, `${stamp} `)

async function boundsAllVersions(t: Test, config: Record<string, unknown> = {}) {
  const started = await startWithGame(t, { config })
  const { ada, platform, game, owner } = started
  const program = await platform.program(owner)
  const settings = { saves: { bytes: 5 * LARGE } }
  t.match(await program.patch(`/api/games/${game.id}`, { settings }), { status: 200, body: { settings } })
  for (let round = 0; round < 12; round++) {
    platform.clock.advance(3_600_000)
    t.ok((await ada.put(`key${round % 3}`, large(`round ${round}`))).status < 300)
  }
  t.same(
    await keptBy(started),
    { stored: 5 * LARGE, kept: 5 * LARGE, live: 3 * LARGE },
    'the bytes went with the versions',
  )
  t.match((await ada.versions('key2')).body.versions, [{ version: 4 }, { version: 3 }])
  t.match((await ada.versions('key0')).body.versions, [{ version: 4 }], 'the oldest went first')
  t.match(await ada.list(), { body: { usedBytes: 3 * LARGE, limitBytes: 5 * LARGE } })
  await ada.delete('key0')
  await ada.put('key3', large('new'))
  t.same(await keptBy(started), { stored: 5 * LARGE, kept: 5 * LARGE, live: 3 * LARGE })
  t.match(await ada.versions('key0'), { status: 200 }, 'the deleted one is younger than the versions')
  for (const key of ['key4', 'key5']) t.equal((await ada.put(key, large(key))).status, 201)
  t.equal((await ada.put('key6', large('full'))).status, 507)
  t.same(await keptBy(started), { stored: 5 * LARGE, kept: 5 * LARGE, live: 5 * LARGE }, 'a current value stays')
  const limit = { saves: { bytes: 2 * LARGE } }
  await program.patch(`/api/games/${game.id}`, { settings: limit })
  t.equal((await ada.put('key1', large('other'))).status, 200, 'one of the same size')
  t.equal((await ada.list()).body.saves.length, 5)
}

t.test('all versions of a player are within what the game gives', async (t) => boundsAllVersions(t))

t.test('so they are on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  await boundsAllVersions(t, { database: { driver: 'postgres', url }, secret: 'x'.repeat(40) })
})

t.test('a change that is refused leaves no bytes', async (t) => {
  const limits = { savesTotalBytes: 2 * LARGE, savesPerPlayer: 2 }
  const started = await startWithGame(t, { config: { limits } })
  const { ada, app } = started
  let written = 0
  const put = app.storage.put.bind(app.storage)
  app.storage.put = (key, body, expected) => {
    written++
    return put(key, body, expected)
  }
  await ada.put('a', large('first'))
  t.equal((await ada.put('a', large('second'), { 'if-match': '"7"' })).status, 412)
  t.equal((await ada.put('b', large('third'), { 'if-match': '*' })).status, 412)
  t.equal((await ada.put('a', large('fourth'), { 'if-none-match': '*' })).status, 412)
  t.equal((await ada.put('b', Buffer.alloc(LARGE + 1))).status, 507)
  t.equal(written, 1, 'they are refused before anything is stored')

  const races = Array.from({ length: 8 }, (_, index) => ada.put('a', large(`race ${index}`), { 'if-match': '"1"' }))
  t.same((await Promise.all(races)).map(({ status }) => status).toSorted(), [200, ...Array(7).fill(412)])
  t.equal((await keptBy(started)).stored, 2 * LARGE, 'what lost the race is gone at once')
  t.equal((await app.db.query('select * from save_blobs')).length, 2)

  // The same bytes of two players: one change fails while the other is under way.
  const same = large('same')
  const [one, two] = [await app.saves.values.place(same), await app.saves.values.place(same)]
  const isThere = async () => (await app.storage.head(blobKey(one.sha256 ?? ''))) !== null
  await app.saves.values.discard(one)
  t.ok(await isThere())
  await app.saves.values.discard(two)
  t.notOk(await isThere())
})

t.test('large values are in the storage by digest, once, and are collected when nobody has them', async (t) => {
  const { ada, bob, app, platform } = await startWithGame(t)
  const value = Buffer.alloc(20_000, 'large value ')
  const sha256 = createHash('sha256').update(value).digest('hex')
  const keys = async () => (await Array.fromAsync(app.storage.list('saves/'))).map(({ key }) => key)
  for (const player of [ada, bob]) t.match(await player.put('a', value), { status: 201, body: { size: 20_000 } })
  t.same(await keys(), [`saves/${sha256.slice(0, 2)}/${sha256}`])
  t.equal((await ada.get('a')).text, value.toString())
  const collect = () => new GarbageCollector(app).run(new AbortController().signal)
  await app.identity.deletion.remove(ada.id)
  platform.clock.advance(2 * 3_600_000)
  await collect()
  t.equal((await keys()).length, 1, 'Bob still has it')
  for (let round = 0; round < 4; round++) await bob.put('a', String(round))
  await collect()
  t.equal((await keys()).length, 1, 'it is an earlier version')
  t.match(await bob.restore('a', 1), { status: 200, body: { size: 20_000 } })
  for (let round = 0; round < 5; round++) await bob.put('a', String(round))
  await collect()
  t.same(await keys(), [])
  t.same(await app.db.query('select * from save_blobs'), [])
})

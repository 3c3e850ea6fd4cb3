import t from 'tap'
import { BLOB_PREFIX } from '../../../plugins/assets/record.ts'
import { isFree, reserveSlugs } from '../../../plugins/assets/slugs.ts'
import { startAssets } from './kit.ts'
import { sheet } from './models.ts'

t.test('a suspended asset answers 451 everywhere, whatever its owner sets, until it is lifted', async (t) => {
  const { ask, upload, owner, other, platform } = await startAssets(t)
  const admin = await platform.admin()
  const { body: asset } = await upload(await sheet(4), { title: 'Rock', tags: 'stone', visibility: 'public' })
  const game = await platform.game(owner, { title: 'Pong' })
  const host = platform.gameHost(game.slug)
  const about = ['', '/file', '/file?variant=source', '/manifest', '/thumbnail', '/animation/walk']
  const statuses = (as?: 'owner' | 'other') =>
    Promise.all(about.map(async (path) => (await ask(`/api/assets/rock${path}`, as ? { as } : {})).status))
  const proxied = async () => (await ask('/__service/assets/rock.glb', { headers: { host } })).status
  // The cache is now warm, so the fast path answers.
  for (let times = 0; times < 3; times++) t.equal((await ask('/api/assets/rock/file')).status, 200)
  t.equal(await proxied(), 200)

  t.equal((await admin.submit('/admin/assets/rock/suspend', { reason: ' ' })).status, 400)
  t.equal((await admin.submit('/admin/assets/rock/suspend', { reason: 'Stolen.' })).status, 303)
  t.same(
    await statuses(),
    about.map(() => 451),
    'at once',
  )
  t.same(
    await statuses('other'),
    about.map(() => 451),
  )
  t.same(await statuses('owner'), [200, 451, 451, 200, 451, 451], 'its owner reads of it, and has none of its files')
  t.equal(await proxied(), 451)
  const refused = await ask('/api/assets/rock/file')
  t.match(refused.json(), { error: { code: 'suspended' } })
  t.match(refused.headers, { 'cache-control': /no-store/ })
  t.match((await ask('/api/assets')).json(), { assets: [] })
  t.equal((await other.get('/assets/rock')).status, 451)
  t.notMatch((await other.get('/assets')).text, /Rock/)

  t.match((await owner.get('/assets/rock')).text, /Stolen\./)
  const program = await platform.program(owner)
  t.match((await program.get(`/api/assets/${asset.id}`)).body, { suspended: { reason: 'Stolen.', at: /Z$/ } })
  for (const verb of ['unpublish', 'publish']) t.equal((await program.post(`/api/assets/rock/${verb}`)).status, 200)
  t.equal((await ask('/api/assets/rock/file')).status, 451, 'its owner has no say in it')

  const appeal = (text: string) => program.post('/api/assets/rock/appeal', { text })
  t.equal((await appeal('')).status, 400)
  t.match(await appeal('I made it.'), { status: 200, body: { suspended: { reason: 'Stolen.' } } })
  t.match(await appeal('Really.'), { status: 409, body: { error: { code: 'appealed_already' } } })
  t.match((await admin.get('/admin/assets/rock/suspend')).text, /I made it\./)

  t.equal((await admin.submit('/admin/assets/rock/lift', {})).status, 303)
  t.equal((await ask('/api/assets/rock/file')).status, 200)
  t.equal(await proxied(), 200)
  t.match(await appeal('Thanks'), { status: 409, body: { error: { code: 'not_suspended' } } })
})

t.test('an administrator deletes a suspended asset for good, and its owner is told', async (t) => {
  const { ask, upload, owner, other, platform } = await startAssets(t)
  const { app } = platform
  const admin = await platform.admin()
  await app.identity.administration.setRole(other.id, 'moderator')
  const { body: asset } = await upload(await sheet(4), { title: 'Rock', visibility: 'public' })
  const remove = (by = admin) => by.submit('/admin/assets/rock/delete', {})
  const page = '/admin/assets/rock/suspend'
  t.match(await remove(), { status: 409, text: /Suspend the asset first/ })
  await app.assets.suspensions.suspend(asset.id, 'Stolen.')
  t.equal((await remove(other)).status, 403, 'a moderator suspends')
  t.notMatch((await other.get(page)).text, 'Delete the asset')
  t.match((await admin.get(page)).text, /Delete the asset/)
  t.equal((await remove()).status, 303)
  t.equal((await ask('/api/assets/rock')).status, 404)
  t.same(
    await app.storage.list(`${BLOB_PREFIX}${asset.id}/`)[Symbol.asyncIterator]().next(),
    { done: true, value: undefined },
    'nor are its files',
  )
  t.match((await owner.get('/settings/messages')).text, /Rock is deleted[\s\S]*Stolen\./)
})

t.test('tags are counted once a minute, and those of what is hidden are gone at once', async (t) => {
  const { upload, owner, platform } = await startAssets(t)
  const { app, clock } = platform
  const tags = () => app.assets.library.tags()
  const { body: rock } = await upload(await sheet(4), { title: 'Rock', tags: 'stone', visibility: 'public' })
  t.same(await tags(), [{ tag: 'stone', count: 1 }])
  await upload(await sheet(5), { title: 'Moss', tags: 'plant', visibility: 'public' })
  t.same(await tags(), [{ tag: 'stone', count: 1 }], 'a new one may wait')
  clock.advance(60_000)
  t.equal((await tags()).length, 2)
  await app.assets.suspensions.suspend(rock.id, 'Stolen.')
  t.same(await tags(), [{ tag: 'plant', count: 1 }])
  await app.assets.changes.update(owner.id, 'moss', { visibility: 'private' })
  t.same(await tags(), [])
})

t.test('an owner withholds a bounded number of addresses, and none of what was never public', async (t) => {
  const { upload, owner, other, platform } = await startAssets(t)
  const { app } = platform
  const program = await platform.program(owner)
  const reserved = async () =>
    (await app.db.query<{ slug: string }>('select slug from former_asset_slugs order by slug')).map(({ slug }) => slug)
  for (const [title, visibility] of [
    ['Rock', 'public'],
    ['Diary', 'private'],
  ] as const) {
    await upload(await sheet(4), { title, visibility })
    t.equal((await program.delete(`/api/assets/${title.toLowerCase()}`)).status, 204)
  }
  t.same(await reserved(), ['rock'])
  await upload(await sheet(5), { title: 'Tree', visibility: 'public' })
  t.equal((await program.post('/api/assets/tree/unpublish')).status, 200)
  t.same(await reserved(), ['rock', 'tree'], 'games may have linked it before')
  t.equal(await isFree(app.db.em(), 'rock', other.id), false)

  const many = Array.from({ length: 1000 }, (_, index) => ({ id: `ast_${index}`, slug: `s-${index}` }))
  await app.db.transaction((em) => reserveSlugs(em, owner.id, many, new Date(platform.clock.now().getTime() + 1)))
  t.equal((await reserved()).length, 1000)
  t.equal(await isFree(app.db.em(), 'rock', other.id), true, 'the oldest are free then')
})

t.test(
  'what a disabled player made goes and comes back with them, and what was suspended for itself stays',
  async (t) => {
    const { ask, upload, owner, platform } = await startAssets(t)
    const { administration } = platform.app.identity
    await upload(await sheet(4), { title: 'Rock', visibility: 'public' })
    await upload(await sheet(4), { title: 'Tree', visibility: 'public' })
    await platform.app.assets.suspensions.suspend('tree', 'Stolen.')
    const statuses = async () => [
      (await ask('/api/assets/rock/file')).status,
      (await ask('/api/assets/tree/file')).status,
    ]
    t.same(await statuses(), [200, 451])
    await administration.setDisabled(owner.id, true)
    t.same(await statuses(), [451, 451])
    await administration.setDisabled(owner.id, false)
    t.same(await statuses(), [200, 451])
  },
)

t.test('moderators suspend assets, and nobody else', async (t) => {
  const { upload, owner, other, platform } = await startAssets(t)
  const admin = await platform.admin()
  await upload(await sheet(4), { title: 'Rock', visibility: 'public' })
  for (const player of [owner, other])
    t.equal((await player.submit('/admin/assets/rock/suspend', { reason: 'x' })).status, 403)
  t.equal((await admin.submit(`/admin/players/${other.id}/role`, { role: 'moderator' })).status, 303)
  t.match((await other.get('/assets/rock')).text, /\/admin\/assets\/rock\/suspend/)
  t.equal((await other.submit('/admin/assets/rock/suspend', { reason: 'Stolen.' })).status, 303)
  t.match(await platform.app.db.query('select actor_id, action from audit order by id desc limit 1'), [
    { actor_id: other.id, action: 'asset.suspend' },
  ])
})

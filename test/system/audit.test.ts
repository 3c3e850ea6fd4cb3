// Whatever the staff does leaves a row: every route that needs a role, and every command of `gameyard admin`.
import t from 'tap'
import { GameDomain } from '../../plugins/domains/entities.ts'
import { startPlatform } from '../kit/platform.ts'
import { inhabit, type Owner, type World } from './access/world.ts'

type Call = [path: string, body?: Record<string, string>]

/** How to do each thing, and succeed. A new route of the staff needs a line here. */
const CALLS: Record<string, (world: World, about: Owner) => Promise<Call> | Call> = {
  'POST /admin/assets/:slug/curate': ({ owner }) => [`/admin/assets/${owner.published?.assetId}/curate`],
  'POST /admin/assets/:slug/release': ({ owner }) => [`/admin/assets/${owner.published?.assetId}/release`],
  'POST /admin/assets/:slug/suspend': ({ owner }) => [
    `/admin/assets/${owner.published?.assetId}/suspend`,
    { reason: 'Stolen.' },
  ],
  'POST /admin/assets/:slug/lift': ({ owner }) => [`/admin/assets/${owner.published?.assetId}/lift`],
  'POST /admin/assets/:slug/delete': async ({ owner, platform: { app } }) => {
    await app.assets.suspensions.suspend(owner.published?.assetId as string, 'Stolen.')
    return [`/admin/assets/${owner.published?.assetId}/delete`]
  },
  'POST /admin/backup': () => ['/admin/backup'],
  'POST /admin/credits': ({ owner }) => [
    '/admin/credits',
    { player: owner.browser.id, amount: '5', description: 'A prize', key: 'once' },
  ],
  'POST /admin/domains/:id/remove': async (world) => [`/admin/domains/${await addDomain(world)}/remove`],
  'POST /admin/games/:id/suspend': (_, { game }) => [`/admin/games/${game.id}/suspend`, { reason: 'Stolen.' }],
  'POST /admin/games/:id/lift': (_, { game }) => [`/admin/games/${game.id}/lift`],
  'POST /admin/games/:id/hand-over': async ({ owner, platform: { app } }, { browser, game }) => {
    const member = "insert into game_members (game_id, player_id, role) values (?, ?, 'maker') on conflict do nothing"
    await app.db.execute(member, [game.id, owner.browser.id])
    await app.db.execute('update players set disabled = ? where id = ?', [true, browser.id])
    return [`/admin/games/${game.id}/hand-over`, { maker: owner.browser.id }]
  },
  'POST /admin/games/:id/delete': async ({ platform: { app } }, { game }) => {
    await app.games.suspensions.suspend(game.id, 'Stolen.')
    return [`/admin/games/${game.id}/delete`, { confirm: game.slug }]
  },
  'POST /admin/approvals/:id/approve': async (world, { game }) => {
    await hold(world, game.id)
    return [`/admin/approvals/${game.id}/approve`]
  },
  'POST /admin/approvals/:id/review': async (world, { game }) => {
    await hold(world, game.id)
    return [`/admin/approvals/${game.id}/review`]
  },
  'POST /admin/approvals/:id/refuse': async (world, { game }) => {
    await hold(world, game.id)
    return [`/admin/approvals/${game.id}/refuse`, { reason: 'Empty.' }]
  },
  'POST /admin/invitations': () => ['/admin/invitations', { note: 'For Bob' }],
  'POST /admin/invitations/:id/withdraw': async ({ platform }) => {
    await platform.app.identity.invitations.make(['For Eve'])
    const [invitation] = await platform.app.identity.invitations.list()
    return [`/admin/invitations/${invitation?.id}/withdraw`]
  },
  'POST /admin/jobs/:id/retry': async ({ platform: { app } }) => {
    const job = ['job_failed', 'test/failed', 'x', {}, 'failed', 9, app.clock.now()]
    await app.db.execute(
      'insert into background_jobs (id, name, "key", payload, state, attempts, created_at) values (?, ?, ?, ?, ?, ?, ?)',
      job as never,
    )
    return ['/admin/jobs/job_failed/retry']
  },
  'POST /admin/players/:id/delete': (_, { browser: { id } }) => [
    `/admin/players/${id}/delete`,
    { confirm: id.slice(-6) },
  ],
  'POST /admin/players/:id/disable': (_, { browser }) => [`/admin/players/${browser.id}/disable`],
  'POST /admin/players/:id/enable': (_, { browser }) => [`/admin/players/${browser.id}/enable`],
  'POST /admin/players/:id/role': (_, { browser }) => [`/admin/players/${browser.id}/role`, { role: 'moderator' }],
  'POST /admin/players/:id/trust': (_, { browser }) => [`/admin/players/${browser.id}/trust`],
  'POST /admin/players/:id/distrust': (_, { browser }) => [`/admin/players/${browser.id}/distrust`],
  'PUT /api/admin/players/:playerId/trust': (_, { browser }) => [
    `/api/admin/players/${browser.id}/trust`,
    { trusted: true } as never,
  ],
  'POST /admin/players/:id/sign-out': (_, { browser }) => [`/admin/players/${browser.id}/sign-out`],
  'POST /admin/players/:id/rename': (_, { browser }) => [`/admin/players/${browser.id}/rename`, { name: 'Player 7' }],
  'POST /admin/players/:id/picture/remove': (_, { browser }) => [`/admin/players/${browser.id}/picture/remove`],
  'POST /admin/players/:id/password-link': (_, { browser }) => [`/admin/players/${browser.id}/password-link`],
  'POST /admin/players/:id/export': (_, { browser }) => [`/admin/players/${browser.id}/export`],
  'POST /admin/quotas/:playerId': (_, { browser }) => [`/admin/quotas/${browser.id}`, { gamesPerPlayer: '3' }],
  'PATCH /api/admin/players/:playerId/quotas': (_, { browser }) => [
    `/api/admin/players/${browser.id}/quotas`,
    { gamesPerPlayer: 'default' },
  ],
  'POST /admin/reports/:id': async (world) => [`/admin/reports/${await report(world)}`, { action: 'dismiss' }],
  'POST /admin/reports/undo': async (world) => ['/admin/reports/undo', { decisionId: await dismiss(world) }],
  'POST /api/admin/reports/:id': async (world) => [`/api/admin/reports/${await report(world)}`, { action: 'dismiss' }],
  'POST /api/admin/reports/undo': async (world) => ['/api/admin/reports/undo', { decisionId: await dismiss(world) }],
  'POST /admin/storage/count': () => ['/admin/storage/count'],
  'POST /api/jam': () => ['/api/jam', { title: 'Jam' }],
  'PATCH /api/jam': () => ['/api/jam', { theme: 'Roots' }],
  'POST /jam': () => ['/jam', { title: 'Jam' }],
  'POST /jam/settings': () => ['/jam/settings', { title: 'Game jam', theme: 'Wings' }],
  'POST /jam/switch': () => ['/jam/switch', { what: 'submissions', to: 'closed' }],
  'POST /jam/results': () => ['/jam/results', { revealed: '0' }],
}

/** Reports the owner's public game. @returns its id */
async function report({ platform: { app }, owner }: World): Promise<string> {
  const target = { kind: 'game', id: owner.published?.gameId as string } as const
  const reporter = { playerId: null, address: '192.0.2.1' }
  await app.moderation.reports.file(target, { category: 'spam', text: 'Spam.' }, reporter)
  return target.id
}

async function dismiss(world: World): Promise<string> {
  const by = { id: 'ply_else', role: 'moderator' } as const
  const decision = await world.platform.app.moderation.decisions.decide(await report(world), { action: 'dismiss' }, by)
  return decision.id
}
/** Makes a game wait for approval. */
const hold = ({ platform: { app } }: World, gameId: string) =>
  app.db.execute("update games set approval = 'waiting', visibility = 'private' where id = ?", [gameId])

async function addDomain({ platform: { app }, owner }: World): Promise<string> {
  const now = app.clock.now()
  const id = 'dom_audited'
  await app.db.em().insert(GameDomain, {
    id,
    gameId: owner.published?.gameId as string,
    name: 'play.example.org',
    provedName: null,
    token: 'x',
    isApex: false,
    isPrimary: false,
    proof: null,
    address: null,
    checkedAt: null,
    nextCheckAt: now,
    pendingSince: now,
    verifiedAt: null,
    failingSince: null,
    createdAt: now,
    updatedAt: now,
  } as never)
  return id
}

t.test('the page of a player leads the staff to what there is about them', async (t) => {
  const platform = await startPlatform(t)
  const [admin, moderator] = [await platform.admin(), await platform.signUp({ name: 'Mo' })]
  await platform.app.identity.administration.setRole(moderator.id, 'moderator')
  const [player, other] = [await platform.signUp({ name: 'Ada' }), await platform.signUp({ name: 'Bob' })]
  const game = await platform.game(player, { title: 'Pong' })
  await platform.game(other, { title: 'Snake' })
  const linksOf = async (viewer: typeof player) => {
    const { text } = await viewer.get(`/admin/players/${player.id}`)
    const links = [...text.matchAll(/href="(\/[^"]*)"/g)].map(([, href]) => href as string)
    return [...new Set(links.filter((href) => href.includes(player.id)))]
  }
  const forModerators = [`/admin/games?q=${player.id}`, `/players/${player.id}`]
  t.same(await linksOf(moderator), forModerators)
  const all = await linksOf(admin)
  t.same(all.slice(0, 2), forModerators)
  t.equal(all.length, 5)
  for (const href of all) t.equal((await admin.get(href)).status, 200, href)
  const games = (await admin.get(`/admin/games?q=${player.id}`)).text
  t.match(games, /Pong/)
  t.notMatch(games, /Snake/)
  t.match((await admin.get(`/admin/credits?player=${player.id}`)).text, new RegExp(`value="${player.id}"`))
  await admin.submit(`/admin/games/${game.id}/suspend`, { reason: 'Stolen.' })
  t.match((await admin.get('/admin/audit')).text, />Pong</, 'the audit has titles of games')
})

t.test('the page of the audit shows a change to no limit', async (t) => {
  const platform = await startPlatform(t)
  const admin = await platform.admin()
  const player = await platform.signUp()
  const path = `/api/admin/players/${player.id}/quotas`
  t.equal((await admin.patch(path, { gamesPerPlayer: null })).status, 200)
  t.match((await admin.get('/admin/audit')).text, /gamesPerPlayer: (–|\w+) → none/)
  t.equal((await admin.patch(path, { gamesPerPlayer: 7 })).status, 200)
  t.match((await admin.get('/admin/audit')).text, /gamesPerPlayer: none → 7/)
})

t.test('every route of the staff that changes something leaves a row of who did what to whom', async (t) => {
  const world = await inhabit(t)
  const { app } = world.platform
  const { browser: admin } = await world.as('administrator')
  const { id: adminId } = (await admin.get('/api/auth/session')).body.user
  const staff = app.routeTable.entries.filter(({ role, method }) => role !== null && !/GET|HEAD/.test(method))
  const routes = staff.map(({ method, url }) => `${method} ${url}`)
  t.same(routes.filter((route) => !CALLS[route]).toSorted(), [], 'a route of the staff that this test does not know')
  const order = Object.keys(CALLS)
  t.same(
    order.filter((route) => !routes.includes(route)),
    [],
    'a line about no route of the staff',
  )
  for (const route of order) {
    const [method = '', url = ''] = route.split(' ')
    const about = await world.bystander(url)
    const [path, body] = await (CALLS[route] as (typeof CALLS)[string])(world, about)
    const last = (await rows(world))[0]?.id ?? ''
    const answer = url.startsWith('/api/')
      ? await admin.request(method, path, body ?? {})
      : await admin.submit(path, body ?? {})
    t.ok(answer.status < 400, `${route}: ${answer.status} ${answer.status >= 400 ? answer.text.slice(0, 300) : ''}`)
    const added = (await rows(world)).filter(({ id, actor_id }) => id > last && actor_id === adminId)
    t.equal(added.length, 1, route)
    t.match(added[0], { actor_role: 'admin', action: /^[a-z]+\.[a-z-]+$/ }, route)
  }
})

t.test('an action that fails leaves no row, and a row stands or falls with its action', async (t) => {
  const world = await inhabit(t)
  const { app } = world.platform
  const { browser: admin } = await world.as('administrator')
  const { game } = world.owner
  const failing = app.db.transaction(async (em) => {
    await app.games.suspensions.suspendIn(em, game.id, { reason: 'Stolen.', by: { id: 'eve', role: 'admin' } })
    throw new Error('the process ends here')
  })
  await t.rejects(failing, /ends here/)
  t.equal((await app.games.get(game.id)).suspended, null)
  t.same(await rows(world), [])
  await admin.submit('/admin/games/nowhere/suspend', { reason: 'x' })
  t.same(await rows(world), [])
})

t.test('the audit is searched, shown and exported as JSON lines', async (t) => {
  const world = await inhabit(t)
  const { browser: admin } = await world.as('administrator')
  const { game } = await world.bystander('/game')
  await admin.submit(`/admin/games/${game.id}/suspend`, { reason: 'Not <b>theirs</b>, 100%.' })
  await admin.submit(`/admin/games/${game.id}/lift`, {})
  await admin.submit('/admin/storage/count', {})
  t.match((await admin.get('/admin/audit')).text, /game\.suspend[\s\S]*Not &lt;b>theirs/)
  const lines = async (q: string) => {
    const { text } = await admin.get(`/admin/audit.jsonl?q=${encodeURIComponent(q)}`)
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  }
  t.same(
    (await lines('')).map(({ action }) => action),
    ['storage.count', 'game.lift', 'game.suspend'],
  )
  t.match(await lines('game.suspend'), [
    {
      by: { role: 'admin' },
      target: { kind: 'game', id: game.id },
      reason: 'Not <b>theirs</b>, 100%.',
      before: { suspended: null },
      after: { suspended: 'Not <b>theirs</b>, 100%.' },
    },
  ])
  t.equal((await lines(game.id)).length, 2)
  t.equal((await lines('100%')).length, 1, 'signs of the database are only signs')
  t.equal((await lines('%')).length, 1)
  t.equal((await lines('nothing of that')).length, 0)
  t.match((await admin.get('/admin/audit?q=nothing')).text, /Nothing found/)
})

const rows = ({ platform }: World) =>
  platform.app.db.query<{ id: string; actor_id: string; actor_role: string; action: string }>(
    'select * from audit order by id desc',
  )

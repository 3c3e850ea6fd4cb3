import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { exchange, obtainCode, registerApp } from '../../kit/oauth.ts'
import { type Answer, Client, type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { form } from '../assets/kit.ts'
import { deploy } from '../game-edge/kit.ts'
import { headersOf, RoomSocket, signInTo } from '../multiplayer/kit.ts'

const REASON = 'It shows the faces of people who did not agree.'
const PICTURE = readFileSync(join(import.meta.dirname, '../../fixtures/media/photo.jpg'))
const FILES = { 'index.html': '<!doctype html><title>Pong</title>', 'game.js': 'play()' }

/** Creates a live game and an administrator, and returns a function that sends requests to the game's origin. */
async function openPlatform(t: Parameters<typeof startPlatform>[0], options: Parameters<typeof startPlatform>[1] = {}) {
  const platform = await startPlatform(t, options)
  const [admin, owner] = [await platform.admin(), await platform.signUp({ name: 'Mo' })]
  const program = await platform.program(owner)
  const game = await platform.game(owner)
  const deployId = await deploy(platform, program, game.id, FILES)
  const host = platform.gameHost(game.slug)
  const suspend = (reason = REASON) => admin.submit(`/admin/games/${game.id}/suspend`, { reason })
  const lift = () => admin.submit(`/admin/games/${game.id}/lift`, {})
  return { platform, admin, owner, program, game, deployId, host, suspend, lift }
}

t.test('an administrator deletes a suspended game for good, and its owner is told', async (t) => {
  const { platform, admin, owner, game, host, suspend } = await openPlatform(t)
  const { app } = platform
  const moderator = await platform.signUp()
  await app.identity.administration.setRole(moderator.id, 'moderator')
  const path = `/admin/games/${game.id}/delete`
  const remove = (confirm: string, by = admin) => by.submit(path, { confirm })
  t.match(await admin.get(path), { status: 200, text: /Suspend it first/ })
  t.match(await remove(game.slug), { status: 409, text: /Suspend the game first/ })
  t.equal((await platform.stranger.get('/', { host })).status, 200)
  await suspend()
  t.match((await admin.get('/admin/games')).text, `href="${path}"`)
  t.notMatch((await moderator.get('/admin/games')).text, path)
  t.equal((await remove(game.slug, moderator)).status, 403)
  t.match(await remove('another'), { status: 400, text: /Nothing was deleted: repeat/ })
  t.match(await remove(game.slug), { status: 303, headers: { location: '/admin/games?done=delete' } })
  t.match((await admin.get('/admin/games?done=delete')).text, /The game is deleted\./)
  t.equal((await platform.stranger.get('/', { host })).status, 404)
  t.match((await owner.get('/api/games')).body.games, { length: 0 })
  t.notMatch((await owner.get('/games')).text, 'Restore', 'nor does it come back')
  t.same(await app.db.query('select id from deploys'), [])
  t.match((await owner.get('/settings/messages')).text, /is deleted[\s\S]*faces of people/)
  t.equal((await remove(game.slug)).status, 404)
  t.match((await admin.get(`/admin/audit?q=${game.id}`)).text, /game\.delete/)

  const other = await platform.game(owner, { title: 'Other' })
  await app.games.suspensions.suspend(other.id, REASON)
  await app.games.deletion.remove(owner.id, other.id)
  t.match((await admin.get(`/admin/games?q=${other.id}`)).text, /deleted by its owner/)
  const again = await admin.submit(`/admin/games/${other.id}/delete`, { confirm: other.slug })
  t.equal(again.status, 303, 'one that could still be restored')
  t.notMatch((await owner.get('/games')).text, 'Restore')
})

/** Returns the status codes for a visitor at a game's address. */
async function statuses(platform: Platform, host: string, paths: string[]): Promise<number[]> {
  const answers: Answer[] = []
  for (const url of paths) answers.push(await platform.stranger.get(url, { host }))
  return answers.map(({ status }) => status)
}

t.test('a suspended game is 451 at all of its addresses, and comes back as it was', async (t) => {
  const { platform, owner, program, game, host, suspend, lift } = await openPlatform(t)
  const paths = ['/', '/game.js']
  const services = ['/auth/service/start', '/auth/service/session', '/__service/auth-widget.js', '/mp/rooms']
  t.same(await statuses(platform, host, paths), [200, 200])
  const before = await statuses(platform, host, services)
  const [{ previewUrl }] = (await program.get(`/api/games/${game.id}/deploys`)).body.deploys
  const preview = new URL(previewUrl).host
  t.same(await statuses(platform, preview, paths), [200, 200])
  const { payload, headers } = form(PICTURE, {}, 'photo.jpg')
  const { body } = await program.post(`/api/games/${game.id}/media`, payload, { headers })

  t.match(await suspend(), { status: 303 })
  t.same(await statuses(platform, host, paths), [451, 451])
  t.match(await platform.stranger.get('/', { host }), {
    text: /This game is suspended/,
    headers: { 'cache-control': 'no-store', 'content-type': /^text\/html/ },
  })
  t.same(await statuses(platform, preview, paths), [451, 451], 'previews, too')
  t.notMatch((await platform.stranger.get('/', { host })).text, REASON, 'the reason is for its owner')
  t.same(await statuses(platform, host, services), [451, 451, 451, 451])
  t.match(await platform.stranger.get('/__service/auth-widget.js', { host }), {
    body: { error: { code: 'suspended' } },
  })
  t.match(await platform.stranger.get(`/games/${game.slug}`), { status: 451, text: /Suspended/ })
  t.match(await owner.post(`/games/${game.slug}/play-ticket`, { purpose: 'cookie' }), { status: 451 })
  const picture = new URL(body.url).pathname
  t.same([(await platform.stranger.get(picture)).status, (await owner.get(picture)).status], [451, 200])
  t.equal((await platform.stranger.get(`/games/${game.slug}/card.png`)).status, 404)
  t.notMatch((await platform.stranger.get(`/games/${game.slug}`)).text, picture, 'its page does not show what it had')
  t.match((await owner.get(`/games/${game.slug}`)).text, picture)

  t.match(await program.patch(`/api/games/${game.id}`, { playable: true, visibility: 'public' }), {
    status: 200,
    body: { suspended: { reason: REASON } },
  })
  const again = await deploy(platform, program, game.id, { 'index.html': 'a new build' })
  t.match((await program.get(`/api/games/${game.id}`)).body, { liveDeployId: again }, 'a deploy is taken')
  t.same(await statuses(platform, host, paths), [451, 451], 'and nothing that its owner does serves it')

  t.match(await lift(), { status: 303 })
  t.same(await statuses(platform, host, ['/']), [200])
  t.match(await platform.stranger.get('/', { host }), { text: /a new build/ })
  t.same(await statuses(platform, host, services), before)
  t.match((await program.get(`/api/games/${game.id}`)).body, { suspended: null })
})

t.test('it is in no list', async (t) => {
  const { platform, owner, program, game, suspend, lift } = await openPlatform(t)
  await program.patch(`/api/games/${game.id}`, { tags: ['co-op'] })
  const lists = ['/', '/catalog', '/catalog?q=pong', '/catalog?tag=co-op', '/feed.xml', `/players/${owner.id}`]
  const shown = async () => {
    const pages = await Promise.all(lists.map((url) => platform.stranger.get(url)))
    const api = await platform.stranger.get('/api/catalog/games')
    return [...pages, api].map(({ text }) => text.includes(`/games/${game.slug}`))
  }
  t.same(new Set(await shown()), new Set([true]))
  await suspend()
  t.same(new Set(await shown()), new Set([false]))
  const { body } = await program.get('/api/games')
  t.match(body.games, [{ id: game.id, suspended: { reason: REASON } }], 'but in that of its owner')
  await lift()
  t.same(new Set(await shown()), new Set([true]))
})

t.test('nobody signs in to it, and its rooms end', { timeout: timeLimit(60) }, async (t) => {
  const { platform, program, game, host, suspend, lift } = await openPlatform(t, { listen: true })
  const player = await platform.signUp()
  await signInTo(player, host)
  const socket = new RoomSocket(t, platform, '/mp/rooms/lobby', headersOf(player, host))
  await socket.enter()
  const started = await player.get('/auth/service/start', { host })
  const authorize = new URL(started.headers.location as string)

  // The clock stands still: no timer ends the rooms.
  await suspend()
  t.equal(await socket.closed, 4011)
  const refused = new RoomSocket(t, platform, '/mp/rooms/lobby', headersOf(player, host))
  await t.rejects(refused.closed, { message: /451/ })
  t.same(refused.received, [])
  const answer = await player.get(authorize.pathname + authorize.search)
  const back = new URL(answer.headers.location as string).searchParams
  t.equal(back.get('error'), 'access_denied')
  t.match(back.get('error_description'), 'suspended')
  t.equal(back.get('code'), null)
  t.match(await player.get('/auth/service/session', { host }), { status: 451 }, 'those who are signed in play no more')

  await lift()
  t.match(await player.get('/auth/service/session', { host }), { status: 200, body: { signedIn: true } })
  t.match((await program.get(`/api/games/${game.id}`)).body, { suspended: null })
})

t.test('its owner reads the reason and answers once', async (t) => {
  const { platform, admin, owner, program, game, suspend } = await openPlatform(t)
  const path = `/api/games/${game.id}/appeal`
  t.match(await program.post(path, { text: 'Why?' }), { status: 409, body: { error: { code: 'not_suspended' } } })
  await suspend()
  const overview = await owner.get(`/games/${game.slug}/overview`)
  t.match(overview.text, REASON)
  t.match(overview.text, 'Your answer')
  const stranger = await platform.program(await platform.signUp())
  t.equal((await stranger.post(path, { text: 'It is mine.' })).status, 404)
  t.equal((await program.post(path, { text: ' ' })).status, 400)
  t.match(await owner.submit(`/games/${game.slug}/appeal`, { text: 'They <all> agreed.' }), { status: 303 })
  t.match(await program.post(path, { text: 'Again.' }), { status: 409, body: { error: { code: 'appealed_already' } } })
  t.match((await owner.get(`/games/${game.slug}/overview`)).text, 'They &lt;all> agreed.')
  t.match((await admin.get('/admin/games')).text, 'Its maker answers: They &lt;all> agreed.')
  await suspend('Another reason.')
  t.equal((await program.post(path, { text: 'About that.' })).status, 200, 'another reason may be answered again')
})

t.test('the games of a disabled player go with the account and come back with it', async (t) => {
  const { platform, admin, owner, game, host } = await openPlatform(t)
  const program = await platform.program(owner)
  const other = await platform.game(owner, { title: 'Second' })
  await deploy(platform, program, other.id, FILES)
  await admin.submit(`/admin/games/${other.id}/suspend`, { reason: REASON })
  const step = (name: string, fields: Record<string, string> = {}) =>
    admin.submit(`/admin/players/${owner.id}/${name}`, fields)
  t.match(
    (await admin.get(`/admin/players/${owner.id}`)).text,
    /name="withContent"[^>]*checked|checked[^>]*name="withContent"/,
  )

  await step('disable')
  t.same(await statuses(platform, host, ['/']), [200], 'unless the administrator leaves them')
  await step('enable')
  await step('disable', { withContent: 'on' })
  t.same(await statuses(platform, host, ['/', '/game.js']), [451, 451])
  t.match((await platform.app.games.get(game.id)).suspended, { reason: /account of its maker is disabled/ })
  await step('enable')
  t.same(await statuses(platform, host, ['/']), [200])
  t.match((await platform.app.games.get(other.id)).suspended, { reason: REASON }, 'what was suspended before stays so')
})

t.test('its owner closes a game for everybody but previews', async (t) => {
  const { platform, program, game, host } = await openPlatform(t)
  t.same(await statuses(platform, host, ['/', '/game.js']), [200, 200])
  await program.patch(`/api/games/${game.id}`, { playable: false })
  t.same(await statuses(platform, host, ['/', '/game.js']), [404, 404])
  t.match(await platform.stranger.get('/', { host }), { text: /Pong is closed/ })
  await program.patch(`/api/games/${game.id}`, { playable: true })
  t.same(await statuses(platform, host, ['/', '/game.js']), [200, 200])
})

t.test('only administrators suspend', async (t) => {
  const { platform, owner, game } = await openPlatform(t)
  const callers: PlayerClient[] = [owner, await platform.signUp()]
  for (const caller of callers)
    for (const step of ['suspend', 'lift'])
      t.equal((await caller.submit(`/admin/games/${game.id}/${step}`, { reason: 'x' })).status, 403)
  t.equal((await platform.app.games.get(game.id)).suspended, null)
})

t.test('the applications of a suspended game act for nobody, and stay linked to it', async (t) => {
  const { platform, owner, program, game, suspend, lift } = await openPlatform(t)
  const linked = await registerApp(platform, owner, { gameId: game.id })
  const alone = await registerApp(platform, owner)
  const player = await platform.signUp()
  const holders: Client[] = []
  for (const app of [linked, alone]) {
    const { body } = await exchange(platform.stranger, app, await obtainCode(player, app))
    holders.push(new Client(platform.app, body.access_token))
  }
  const ask = async () => {
    const answers: number[] = []
    for (const holder of holders) answers.push((await holder.get('/api/oauth/userinfo')).status)
    return answers
  }
  t.same(await ask(), [200, 200])
  await suspend()
  t.same(await ask(), [401, 200], 'what is not linked to the game goes on')
  const changer = await platform.program(owner, ['oauth:write'])
  const unlink = () => changer.patch(`/api/oauth/apps/${linked.id}`, { gameId: null })
  t.match(await unlink(), { status: 409, body: { error: { code: 'suspended' } } })
  t.equal((await changer.patch(`/api/oauth/apps/${linked.id}`, { name: 'Pong 2' })).status, 200)
  t.equal((await program.delete(`/api/games/${game.id}`)).status, 204)
  t.same(await ask(), [401, 200], 'nor does deleting the game help')
  t.equal((await program.post(`/api/games/${game.id}/restore`)).status, 200)
  await lift()
  t.same(await ask(), [200, 200])
  t.equal((await unlink()).status, 200)
})

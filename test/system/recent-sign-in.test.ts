// What gives the server away needs a sign-in of the last ten minutes: a session may have been left open.
import t from 'tap'
import { Client, PASSWORD, startPlatform } from '../kit/platform.ts'
import { join } from '../kit/team.ts'

const MINUTE = 60_000

t.test('what gives the server away needs a recent sign-in, and leads back to its page', async (t) => {
  const platform = await startPlatform(t)
  const admin = await platform.admin()
  const player = await platform.signUp({ email: 'ada@example.org' })
  const of = `/admin/players/${player.id}`
  const game = await platform.game(player)
  const deletion = `/admin/games/${game.id}/delete`
  await platform.app.games.suspensions.suspend(game.id, 'Stolen.')
  const steps: [path: string, fields: Record<string, string>, page: string][] = [
    ['/admin/backup', {}, '/admin/storage'],
    ['/admin/credits', { player: player.id, amount: '5', description: 'A gift.', key: 'gift' }, '/admin/credits'],
    [`${of}/password-link`, {}, of],
    [`${of}/export`, {}, of],
    [deletion, { confirm: game.slug }, deletion],
    [`${of}/role`, { role: 'admin' }, of],
    [`${of}/delete`, { confirm: player.id.slice(-6) }, of],
  ]
  platform.clock.advance(11 * MINUTE)
  const before = await platform.app.db.query('select id from audit')
  for (const [path, fields, page] of steps) {
    const { status, headers } = await admin.submit(path, fields)
    const { pathname, searchParams } = new URL(String(headers.location), 'http://localhost')
    t.same(
      { status, pathname, ...Object.fromEntries(searchParams) },
      { status: 303, pathname: '/sign-in', prompt: 'login', returnTo: page },
      path,
    )
    t.match(await admin.get(String(headers.location)), { status: 200, text: /sign-in of the last ten minutes/ })
  }
  t.same(await platform.app.db.query('select id from audit'), before, 'nothing is done')
  t.match((await player.get('/api/auth/session')).body.user, { role: 'player' })
  t.equal((await admin.submit(`${of}/trust`, {})).status, 303, 'what can be taken back needs none')

  for (const [path, fields, page] of steps) {
    const credentials = { email: admin.account.email, password: PASSWORD, returnTo: page }
    t.match(await admin.submit('/sign-in', credentials), { status: 303, headers: { location: page } })
    const { status, headers } = await admin.submit(path, fields)
    t.ok(status < 400 && !headers.location?.startsWith('/sign-in'), `${path} then`)
  }
  t.equal((await admin.get(of)).status, 404)
})

t.test('a device is approved, and data exported, only after a recent sign-in, which keeps the code', async (t) => {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'] })
  const player = await platform.signUp()
  platform.clock.advance(11 * MINUTE)
  const begun = await platform.stranger.submit('/api/oauth/device_authorization', { client_id: 'gameyard-cli' })
  const form = { user_code: begun.body.user_code, decision: 'allow' }
  const wayBack = `/oauth/device?user_code=${form.user_code}`
  const again = (returnTo: string) => `/sign-in?${new URLSearchParams({ prompt: 'login', returnTo })}`
  t.match(await player.submit('/oauth/device', form), { status: 303, headers: { location: again(wayBack) } })
  t.match(await player.get('/settings/export'), { status: 303, headers: { location: again('/settings') } })
  const { email } = player.account
  const signedIn = await player.submit('/sign-in', { email, password: PASSWORD, returnTo: wayBack })
  t.match(signedIn, { status: 303, headers: { location: wayBack } })
  t.match((await player.get(wayBack)).text, 'Is this your device?')
  t.match(await player.submit('/oauth/device', form), { headers: { location: '/oauth/device?done=approved' } })
  t.equal((await player.get('/settings/export')).status, 200)

  platform.clock.advance(11 * MINUTE)
  const other = await platform.stranger.submit('/api/oauth/device_authorization', { client_id: 'gameyard-cli' })
  const denied = await player.submit('/oauth/device', { user_code: other.body.user_code, decision: 'deny' })
  t.match(denied, { headers: { location: '/oauth/device?done=denied' } }, 'a refusal needs none')
})

t.test('a game is offered to another owner only after a recent sign-in, and by a token', async (t) => {
  const platform = await startPlatform(t)
  const owner = await platform.signUp()
  const maker = await platform.signUp()
  const game = await platform.game(owner)
  await join(owner, game, 'maker', [maker])
  const program = await platform.program(owner)
  const [path, page] = [`/api/games/${game.id}/transfer`, `/games/${game.slug}/team`]
  platform.clock.advance(11 * MINUTE)
  t.match(await owner.post(path, { playerId: maker.id }), { status: 403, body: { error: { code: 'forbidden' } } })
  const location = `/sign-in?${new URLSearchParams({ prompt: 'login', returnTo: page })}`
  t.match(await owner.submit(`${page}/transfer`, { maker: maker.id }), { status: 303, headers: { location } })
  t.equal((await owner.get(path)).status, 404, 'nothing is offered')
  t.equal((await program.post(path, { playerId: maker.id })).status, 201, 'a program says itself that it may')
  t.equal((await owner.delete(path)).status, 204, 'what is taken back needs none')
  const { email } = owner.account
  await owner.submit('/sign-in', { email, password: PASSWORD, returnTo: page })
  const offered = await owner.submit(`${page}/transfer`, { maker: maker.id })
  t.match(offered, { status: 303, headers: { location: `${page}#transfer` } })
})

t.test('a guest, who has nothing to sign in with, exports data and approves a device at any time', async (t) => {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'], config: { auth: { guests: true } } })
  const guest = new Client(platform.app)
  t.equal((await guest.post('/api/auth/guest', { name: 'Ada' })).status, 201)
  platform.clock.advance(11 * MINUTE)
  t.match(await guest.get('/settings/export'), { status: 200, body: { player: { name: 'Ada' } } })
  const begun = await platform.stranger.submit('/api/oauth/device_authorization', { client_id: 'gameyard-cli' })
  const answer = await guest.submit('/oauth/device', { user_code: begun.body.user_code, decision: 'allow' })
  t.notMatch(answer.headers.location, '/sign-in')
})

import t from 'tap'
import { Authenticator } from '../../kit/authenticator.ts'
import { amount } from '../../kit/extent.ts'
import { exchange, obtainCode, registerApp } from '../../kit/oauth.ts'
import { Client, PASSWORD, startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { linkIn, startSmtp } from '../../kit/smtp.ts'
import { until } from '../../kit/until.ts'

t.test('the same holds on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const platform = await startPlatform(t, {
    only: ['oauth-idp', 'tokens'],
    config: { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' },
  })
  t.equal((await (await platform.admin()).get('/settings')).status, 200)
  const player = await platform.signUp({ email: 'ada@example.org' })
  const device = new Authenticator(platform.portal)
  // A counter has 32 bits without a sign, an integer of PostgreSQL has one.
  const offered = await player.post('/api/auth/passkeys/options')
  const made = { label: 'Key', response: device.create(offered.body, 2 ** 31 + 5) }
  t.equal((await player.post('/api/auth/passkeys', made)).status, 201)
  for (const [counter, status] of [
    [2 ** 31 + 6, 200],
    [2 ** 32 - 1, 200],
    [7, 401],
  ] as const) {
    const browser = new Client(platform.app)
    const { body } = await browser.post('/api/auth/passkeys/sign-in/options')
    const answer = await browser.post('/api/auth/passkeys/sign-in', { response: device.get(body, counter) })
    t.equal(answer.status, status, `a passkey with the counter ${counter}`)
  }

  const app = await registerApp(platform, player)

  const code = await obtainCode(player, app)
  const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(platform.stranger, app, code)))
  t.same(answers.map(({ status }) => status).sort(), [200, ...Array(19).fill(400)], 'one of twenty gets a token')
  const winner = answers.find(({ status }) => status === 200)?.body
  const bearer = (token: string) => new Client(platform.app, token)
  t.equal((await bearer(winner.access_token).get('/api/oauth/userinfo')).status, 401, 'which the replays revoke')

  const { access_token: token } = (await exchange(platform.stranger, app, await obtainCode(player, app))).body
  t.match((await bearer(token).get('/api/oauth/userinfo')).body, { sub: player.id })
  platform.clock.advance(3_600_000 * 2)
  t.equal((await bearer(token).get('/api/oauth/userinfo')).status, 401)
  t.match(
    (await player.get('/api/auth/session')).headers['set-cookie'],
    /gameyard_session_\d+=/,
    'the session is renewed',
  )
  await platform.app.identity.sweep()

  await registerApp(platform, player, { public: true, redirectUris: ['https://pages.example/done'] })
  await platform.stranger.post('/api/oauth/register', { redirect_uris: ['https://itself.example/done'] })
  t.ok(await platform.app.identity.pageOrigins.isKnown('https://pages.example'))
  t.notOk(await platform.app.identity.pageOrigins.isKnown('https://itself.example'), 'nobody has allowed it')

  const program = await platform.program(player)
  t.equal((await program.get('/api/cli/whoami')).status, 200)
  await player.submit('/settings/password', { current: PASSWORD, password: 'a new yard battery' })
  t.equal((await player.get('/settings')).status, 200)
  const { tokens } = (await player.get('/api/tokens')).body
  t.equal((await player.delete(`/api/tokens/${tokens[0].id}`)).status, 204)
  t.equal((await program.get('/api/cli/whoami')).status, 401)
  const taken = { email: 'ada@example.org', password: PASSWORD, name: 'Ada' }
  t.equal((await platform.stranger.post('/api/auth/sign-up', taken)).status, 409)
})

t.test('so do guests, links and what administrators do', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const { inbox, url: smtp } = await startSmtp(t)
  const platform = await startPlatform(t, {
    only: ['oauth-idp', 'tokens'],
    config: {
      database: { driver: 'postgres', url },
      secret: 'a secret of the cluster, long enough for it',
      mail: { driver: 'smtp', url: smtp, from: 'yard@example.org' },
      auth: { guests: true },
    },
  })
  const admin = await platform.admin()
  const player = await platform.signUp({ name: 'Ada 100%', email: 'ada@example.org' })
  const guest = new Client(platform.app)
  const { id } = (await guest.post('/api/auth/guest', { name: 'Gus' })).body.user
  const clash = { name: 'Gus', email: 'ada@example.org', password: PASSWORD }
  t.equal((await guest.submit('/settings/upgrade', clash)).status, 409)
  t.equal((await guest.submit('/settings/upgrade', { ...clash, email: 'gus@example.org' })).status, 303)
  t.equal((await guest.get('/api/auth/session')).body.user.id, id)

  await platform.stranger.submit('/reset-password', { email: 'ada@example.org' })
  await until(() => inbox.length > 0)
  const link = linkIn(inbox[0] as { text: string })
  const uses = Array.from({ length: amount(10, 50) }, (_, index) =>
    platform.stranger.submit(link, { password: `yard battery fence ${index}` }),
  )
  t.equal((await Promise.all(uses)).filter(({ status }) => status === 303).length, 1, 'one of many uses of a link')
  t.match((await admin.get('/admin/players?q=ADA')).text, />Ada 100%<\/a>/)
  t.match((await admin.get('/admin/players?q=%25')).text, />Ada 100%<\/a>/)
  t.notMatch((await admin.get('/admin/players?q=%25')).text, />Gus<\/a>/)
  t.equal((await admin.submit(`/admin/players/${player.id}/role`, { role: 'admin' })).status, 303)
  const { administration, players, signUp } = platform.app.identity
  const both = await Promise.allSettled([
    administration.setDisabled(player.id, true),
    administration.setDisabled(admin.id, true),
  ])
  t.equal(both.filter(({ status }) => status === 'fulfilled').length, 1, 'one administrator is left')
  await platform.app.identity.deletion.remove(id)
  t.equal(await players.find(id), null)
  await signUp.guest('Lost', { address: '127.0.0.1' })
  platform.clock.advance(31 * 86_400_000)
  t.equal((await signUp.lostGuests()).length, 1)
  await platform.app.identity.sweep()
  t.equal((await signUp.lostGuests()).length, 0)
})

t.test('an account that ends while its changes are made leaves none of them', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const platform = await startPlatform(t, {
    only: ['oauth-idp', 'tokens'],
    config: { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' },
  })
  const { app } = platform
  const admin = await platform.admin()
  for (let round = 0; round < amount(2, 20); round++) {
    const player = await platform.signUp()
    const makes = Array.from({ length: 12 }, (_, index) =>
      player.post('/api/tokens', { label: `token ${index}`, scopes: ['games:read'] }),
    )
    const [made] = await Promise.all([Promise.all(makes), app.identity.deletion.remove(player.id)])
    t.same(
      made.map(({ status }) => status).filter((status) => status !== 201 && status !== 401),
      [],
      'each is made before the end, or refused',
    )
    const [left] = await app.db.query<{ n: number }>('select count(*) as n from api_tokens where player_id = ?', [
      player.id,
    ])
    t.equal(left?.n, 0)

    const other = await platform.signUp()
    const leaves = () => other.submit('/settings/delete', { password: PASSWORD })
    const twice = await Promise.all([leaves(), leaves()])
    t.ok(
      twice.every(({ status }) => status < 500),
      `two deletions at once: ${twice.map(({ status }) => status)}`,
    )
  }
  const second = await platform.signUp()
  const third = await platform.signUp()
  for (const { id } of [second, third]) await app.identity.administration.setRole(id, 'admin')
  const disable = (by: typeof second, whom: typeof second) =>
    by.submit(`/admin/players/${whom.id}/disable`, { content: 'on' })
  const both = await Promise.all([disable(second, third), disable(third, second)])
  t.ok(
    both.every(({ status }) => status < 500),
    `two of staff disable each other: ${both.map(({ status }) => status)}`,
  )
  const states = await Promise.all([second, third].map(({ id }) => app.identity.administration.find(id)))
  t.equal(states.filter(({ disabled }) => disabled).length, 1, 'one of them is left')
  t.equal((await admin.get('/admin/players')).status, 200)
})

import t from 'tap'
import { exchange, obtainCode, registerApp } from '../../kit/oauth.ts'
import { Client, PASSWORD, startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'

t.test('the same holds on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const platform = await startPlatform(t, {
    only: ['oauth-idp', 'tokens'],
    config: { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' },
  })
  t.equal((await (await platform.admin()).get('/settings')).status, 200)
  const player = await platform.signUp({ email: 'ada@example.org' })
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
  t.match((await player.get('/api/auth/session')).headers['set-cookie'], /session=/, 'the session is renewed')
  await platform.app.identity.sweep()

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

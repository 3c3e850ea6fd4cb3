import t from 'tap'
import { captureLog } from '../../kit/driver-context.ts'
import { exchange, obtainCode, registerApp } from '../../kit/oauth.ts'
import { PASSWORD, startPlatform } from '../../kit/platform.ts'

t.test('no secret of a whole run is in the database or in the log', async (t) => {
  const { log, lines } = captureLog()
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'], log })
  const link = (await platform.app.identity.setupUrl()) as string
  const player = await platform.signUp({ email: 'ada@example.org' })
  const program = await platform.program(player)
  const app = await registerApp(platform, player)
  const spent = await obtainCode(player, app)
  const { access_token: accessToken } = (await exchange(platform.stranger, app, spent)).body
  const waiting = await obtainCode(player, app)
  const rotated = await program.post(`/api/oauth/apps/${app.id}/secret?graceSeconds=60`)
  await program.get('/api/cli/whoami')
  await player.get(`/sign-in?returnTo=/oauth/authorize%3Fcode%3D${waiting}`)
  await platform.stranger.get(new URL(link).pathname)

  const secrets = {
    'the password': PASSWORD,
    'the session': player.cookiesOf().get('session') as string,
    'the API token': program.token as string,
    'a redeemed code': spent,
    'a code': waiting,
    'the access token': accessToken as string,
    'the client secret': app.clientSecret,
    'the new client secret': rotated.body.clientSecret as string,
    'the set-up token': new URL(link).pathname.split('/').at(-1) as string,
  }
  const em = platform.app.db.em()
  const tables = await em.execute<{ name: string }[]>("select name from sqlite_master where type = 'table'")
  let dump = ''
  for (const { name } of tables) dump += JSON.stringify(await em.execute(`select * from ${name}`))
  t.match(dump, 'ada@example.org', 'the dump is one')
  const logged = JSON.stringify(lines())
  t.match(logged, '/api/oauth/token', 'the log is one')
  for (const [what, secret] of Object.entries(secrets)) {
    t.ok(secret.length > 20, what)
    t.notOk(dump.includes(secret), `${what} is not in the database`)
    t.notOk(logged.includes(secret), `${what} is not in the log`)
  }
})

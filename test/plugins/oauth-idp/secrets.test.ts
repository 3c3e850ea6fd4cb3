import t from 'tap'
import { captureLog } from '../../kit/driver-context.ts'
import { callEndpoint, exchange, obtainCode, obtainTokens, registerApp } from '../../kit/oauth.ts'
import { Client, PASSWORD, startPlatform } from '../../kit/platform.ts'

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

  const nobody = platform.stranger
  const tokens = await obtainTokens(
    player,
    nobody,
    { ...app, clientSecret: rotated.body.clientSecret },
    'openid offline_access',
  )
  const server = { ...app, clientSecret: rotated.body.clientSecret as string }
  const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  const refreshed = (await callEndpoint(nobody, server, 'token', refresh)).body
  await callEndpoint(nobody, server, 'introspect', { token: refreshed.access_token })
  await callEndpoint(nobody, server, 'revoke', { token: refreshed.refresh_token })
  await player.get(`/oauth/logout?id_token_hint=${tokens.id_token}&client_id=wrong`)
  const cli = { clientId: 'gameyard-cli' }
  const device = (await callEndpoint(nobody, cli, 'device_authorization')).body
  await player.get(`/oauth/device?user_code=${device.user_code}`)
  await player.submit('/oauth/device', { user_code: device.user_code, decision: 'allow' })
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  const login = (await callEndpoint(nobody, cli, 'token', { grant_type, device_code: device.device_code })).body
  await new Client(platform.app, login.access_token).get('/api/cli/whoami')
  const open = (await callEndpoint(nobody, cli, 'device_authorization')).body

  await player.get(`/sign-in?returnTo=/oauth/authorize%3Fcode%3D${waiting}`)
  await platform.stranger.get(new URL(link).pathname)

  const secrets = {
    'the password': PASSWORD,
    'the session': player.cookiesOf().get('gameyard_session_8080') as string,
    'the API token': program.token as string,
    'a redeemed code': spent,
    'a code': waiting,
    'the access token': accessToken as string,
    'the client secret': app.clientSecret,
    'the new client secret': rotated.body.clientSecret as string,
    'a used refresh token': tokens.refresh_token,
    'a refresh token': refreshed.refresh_token as string,
    'an id token': tokens.id_token,
    'a used device code': device.device_code as string,
    'a device code': open.device_code as string,
    'the CLI token': login.access_token as string,
    'the set-up token': new URL(link).pathname.split('/').at(-1) as string,
  }
  const em = platform.app.db.em()
  const tables = await em.execute<{ name: string }[]>("select name from sqlite_master where type = 'table'")
  let dump = ''
  for (const { name } of tables) dump += JSON.stringify(await em.execute(`select * from ${name}`))
  t.match(dump, 'ada@example.org', 'the dump is one')
  t.match(dump, /crv.{1,4}:.{1,4}P-256/, 'with the keys of id tokens')
  t.notMatch(dump, /\\?"d\\?":/, 'and no private one')
  const logged = JSON.stringify(lines())
  t.match(logged, '/api/oauth/token', 'the log is one')
  for (const [what, secret] of Object.entries(secrets)) {
    t.ok(secret.length > 20, what)
    t.notOk(dump.includes(secret), `${what} is not in the database`)
    t.notOk(logged.includes(secret), `${what} is not in the log`)
  }
  for (const code of [device.user_code, open.user_code].flatMap((code: string) => [code, code.replace('-', '')])) {
    t.notOk(dump.includes(code), 'a user code is not in the database')
    t.notOk(logged.includes(code), 'a user code is not in the log')
  }
})

// The pages of OAuth applications, which work without a script.
import t from 'tap'
import { exchange, obtainCode, REDIRECT_URI } from '../../kit/oauth.ts'
import { startPlatform } from '../../kit/platform.ts'

const LIST = '/settings/applications'

t.test('an application is registered, changed, given another secret and deleted by forms', async (t) => {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'] })
  const player = await platform.signUp()
  t.match((await player.get(LIST)).text, /No applications yet/)
  const [home, local] = [REDIRECT_URI, 'http://localhost:5173/cb']
  const made = await player.submit(`${LIST}/new`, {
    name: 'My website',
    homepageUrl: '',
    redirectUris: ` ${home}\r\n\r\n${local}\r\n`,
    kind: 'secret',
  })
  t.match(made, { status: 201, headers: { 'cache-control': 'no-store' }, text: /shown only this once/ })
  const clientSecret = /svc_secret_[\w-]{43}/.exec(made.text)?.[0] as string
  const [app] = (await player.get('/api/oauth/apps')).body.apps
  t.match(app, { name: 'My website', homepageUrl: null, redirectUris: [home, local], public: false })
  const path = `${LIST}/${app.id}`
  t.match((await player.get(LIST)).text, `href="${path}"`)
  t.notMatch((await player.get(path)).text, 'svc_secret_', 'the secret is shown once')

  const asked = { ...app, clientSecret }
  t.equal((await exchange(platform.stranger, asked, await obtainCode(player, asked))).status, 200)
  t.match((await player.get(path)).text, /1 in the last 30 days/)

  const form = {
    name: 'Renamed',
    homepageUrl: 'https://a.example',
    redirectUris: home,
    idTokenSignedResponseAlg: 'RS256',
  }
  t.match(await player.submit(path, form), { status: 303, headers: { location: `${path}?done=saved` } })
  t.match((await player.get(`/api/oauth/apps/${app.id}`)).body, { ...form, redirectUris: [home] })
  for (const [changes, says] of [
    [{ name: ' ' }, /Give it a name of 1 to 120/],
    [{ homepageUrl: 'a.example' }, /Enter a whole web address/],
    [{ redirectUris: ' ' }, /Enter 1 to 20 whole addresses/],
    [{ redirectUris: `${home}\nhttps://b.example/#x` }, /https:\/\/b\.example\/#x: This redirect URI has a fragment/],
    [{ redirectUris: `${home}\n${home}` }, /is there twice/],
  ] as const) {
    const { status, text } = await player.submit(path, { ...form, ...changes })
    t.match([status, text], [400, says])
  }

  const renewed = await player.submit(`${path}/secret`, { keep: 'on' })
  const next = /svc_secret_[\w-]{43}/.exec(renewed.text)?.[0] as string
  t.not(next, clientSecret)
  for (const secret of [clientSecret, next]) {
    const known = { ...asked, clientSecret: secret }
    t.equal((await exchange(platform.stranger, known, await obtainCode(player, known))).status, 200)
  }
  await player.submit(`${path}/secret`, {})
  t.equal((await exchange(platform.stranger, asked, await obtainCode(player, asked))).status, 401)

  const other = await platform.signUp()
  for (const page of [path, `${path}/secret`, `${path}/delete`]) {
    t.equal((await other.submit(page, form)).status, 404, page)
  }
  t.match(await player.submit(`${path}/delete`, {}), { status: 303, headers: { location: `${LIST}?done=deleted` } })
  t.equal((await player.get(path)).status, 404)
})

t.test('one without a secret, and the one of a game, which keeps the addresses of the platform', async (t) => {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens', 'quotas', 'games'] })
  const player = await platform.signUp()
  const local = 'http://localhost:5173/cb'
  const made = await player.submit(`${LIST}/new`, { name: 'Page', redirectUris: local, kind: 'public' })
  t.equal(made.status, 303)
  const open = (await player.get(String(made.headers.location))).text
  t.match(open, /without a secret/)
  t.notMatch(open, /Create a new client secret/)

  const game = await platform.game(player, { title: 'Pong' })
  t.match((await player.get('/games/pong/integrate')).text, /settings\/applications\/app_/)
  const { apps } = (await player.get('/api/oauth/apps')).body
  const { id, name, redirectUris } = apps.find((app: { gameId: string }) => app.gameId === game.id)
  const path = `${LIST}/${id}`
  const page = (await player.get(path)).text
  t.match(page, /Those at which this platform serves the game stay/)
  t.notMatch(page, /Delete the application|name="homepageUrl"/)
  const refused = await player.submit(path, { name, redirectUris: [...redirectUris, 'http://far.example/'].join('\n') })
  t.match([refused.status, refused.text], [400, /http:\/\/far\.example\/: This redirect URI needs https/])
  t.equal((await player.submit(path, { name, redirectUris: local })).status, 303)
  t.same((await player.get(`/api/oauth/apps/${id}`)).body.redirectUris, [...redirectUris, local])
})

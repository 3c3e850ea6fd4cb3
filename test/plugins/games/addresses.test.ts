// Tests the data that previous versions stored about the platform's own addresses.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Client, PASSWORD, type PlayerClient, startPlatform } from '../../kit/platform.ts'

const only = ['oauth-idp', 'tokens', 'quotas', 'games']

const ELSEWHERE = 'https://pong.my-server.example/auth/service/callback'
const callback = (host: string) => `${host}/auth/service/callback`

/** Starts platforms on one data folder, one after the other. */
function openPlatform(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-moves-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return (config: Record<string, unknown> = {}) =>
    startPlatform(t, { config: { dataDir: join(folder, 'data'), database: { driver: 'sqlite' }, ...config } })
}

const MOVED = { portal: { url: 'https://yard-portal.org' }, games: { domain: 'yard-games.net' } }

t.test('addresses that the version before stored are told apart from those of owners', async (t) => {
  for (const restarted of [true, false]) {
    const start = openPlatform(t)
    const first = await start()
    const owner = await first.signUp({ email: 'ada@example.org' })
    const game = await first.game(owner, { title: 'Pong' })
    const { db } = first.app
    const own = callback('http://pong.localhost:8080')
    await db.execute('update oauth_apps set redirect_uris = ?, served_uris = null', [JSON.stringify([own, ELSEWHERE])])
    await first.app.close()
    // With its old configuration the platform knows the addresses. If it moves at the same time, it uses the stored
    // home page.
    if (restarted) await (await start()).app.close()
    const { app } = await start(MOVED)
    const player = new Client(app) as PlayerClient
    await player.post('/api/auth/sign-in', { email: 'ada@example.org', password: PASSWORD })
    const ask = (redirectUri: string) =>
      player.get(
        `/oauth/authorize?${new URLSearchParams({
          response_type: 'code',
          client_id: game.clientId,
          redirect_uri: redirectUri,
          scope: 'profile',
        })}`,
      )
    t.equal((await ask(callback('https://pong.yard-games.net'))).status, 303, 'its own address is taken')
    t.equal((await ask(own)).status, 400, 'the one that it had is not any more')
    t.match(await ask(ELSEWHERE), { status: 200, text: /Allow/ }, 'what its owner registered is, and players are asked')
    for (const foreign of [
      callback('https://other.yard-games.net'),
      callback('http://pong.yard-games.net'),
      callback('https://pong.yard-games.net:8443'),
      `${callback('https://pong.yard-games.net')}?x=1`,
      `${callback('https://pong.yard-games.net')}/`,
      callback('https://PONG.yard-games.net'),
      callback('https://pong--abc.yard-games.net'),
      'https://pong.yard-games.net/elsewhere',
      'not an address',
    ])
      t.equal((await ask(foreign)).status, 400, foreign)
    const [row] = await app.identity.apps.list(owner.id, { limit: 20 }).then(({ apps }) => apps)
    t.same(row?.redirectUris, [callback('https://pong.yard-games.net'), ELSEWHERE])
    await app.close()
  }
})

t.test('a game whose address elsewhere is its own lives here', async (t) => {
  const start = openPlatform(t)
  const first = await start()
  const owner = await first.signUp()
  const program = await first.program(owner)
  const game = await first.game(owner, { title: 'Pong' })
  const same = await program.patch(`/api/games/${game.id}`, { url: `${game.url}/` })
  t.match(same, { status: 200, body: { url: game.url } })
  t.same(await first.app.db.query('select external_url from games'), [{ external_url: null }], 'nothing is stored')
  await first.app.db.execute('update games set external_url = ?', [game.url])
  await first.app.db.execute('update oauth_apps set hosted = ?, served_uris = ?', [false, '[]'])
  await first.app.close()
  await (await start()).app.close()
  const { app } = await start(MOVED)
  t.match(await app.games.get(game.id), { url: 'https://pong.yard-games.net', hosted: true })
  t.match(await app.identity.apps.find(game.clientId), { hosted: true, redirectUris: [] })
})

t.test('an owner names further redirect URIs beside those that the game has', async (t) => {
  const platform = await startPlatform(t, { only })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const game = await platform.game(owner, { title: 'Pong' })
  const [app] = (await program.get('/api/oauth/apps')).body.apps
  const path = `/api/oauth/apps/${app.id}`
  const own = callback(game.url)
  t.match(await program.patch(path, { redirectUris: [ELSEWHERE] }), { body: { redirectUris: [own, ELSEWHERE] } })
  t.match(await program.patch(path, { redirectUris: [own] }), { body: { redirectUris: [own] } })
  t.match(await program.patch(path, { homepageUrl: 'https://else.example' }), {
    status: 400,
    body: { error: { code: 'invalid_request', details: [{ path: 'homepageUrl' }] } },
  })
  t.match(await program.patch(path, { homepageUrl: game.url, name: 'Pong 2' }), {
    status: 200,
    body: { name: 'Pong 2' },
  })
})

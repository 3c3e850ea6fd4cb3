// Games, deploys and a game's own origin.
import { once } from 'node:events'
import WebSocket from 'ws'
import { type Case, type Cases, cookiesOf, ISO, type World } from './world.ts'

const field =
  (name: string, value: unknown, changed?: unknown): Case =>
  async (t, w) => {
    const made = await w.createGame({ [name]: value })
    t.same(made[name], value)
    if (changed === undefined) return
    const token = await w.token('games:write')
    const { status, body } = await w.http('PATCH', `/api/games/${made.id}`, { token, body: { [name]: changed } })
    t.equal(status, 200)
    t.same(body[name], changed, 'changed')
  }

const required =
  (name: string, others: Record<string, unknown>): Case =>
  async (t, w) => {
    await field(name, 'Pong of the spec', 'Another')(t, w)
    const without = await w.post('/api/games', { token: await w.token('games:write'), body: others })
    t.match(without, { status: 400, body: { error: { code: 'invalid_request' } } }, 'required on create')
  }

const sessionField =
  (name: string, shape: unknown): Case =>
  async (t, w) => {
    const { url } = await w.game()
    const cookie = await w.gameSession()
    t.match((await w.get(`${url}/auth/service/session`, { headers: { cookie } })).body, { [name]: shape })
    const out = await w.get(`${url}/auth/service/session`)
    t.same(out.body, { signedIn: false }, 'signed out: only that')
  }

/** A room's socket, or the refusal of its upgrade. */
async function socket(w: World, room: string, cookie?: string) {
  const { url } = await w.game()
  const { host, port, origin } = new URL(url)
  const headers = { host, ...(cookie ? { cookie } : {}) }
  const one = new WebSocket(`ws://127.0.0.1:${port}/mp/rooms/${room}`, { headers, origin })
  one.on('error', () => {})
  const refusal = new Promise<{ status: number; body: unknown }>((done) =>
    one.on('unexpected-response', async (_request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk)
      one.terminate()
      done({ status: response.statusCode ?? 0, body: JSON.parse(String(Buffer.concat(chunks))) })
    }),
  )
  const received = once(one, 'message').then(([data]) => {
    one.close()
    return { status: 101, body: JSON.parse(String(data)) }
  })
  return Promise.race([refusal, received])
}

const PNG = /^https?:\/\//

export const games: Cases = {
  'Origins / Portal': async (t, w) => {
    t.equal((await w.get('/api/auth/session')).status, 200)
    t.equal(
      (await w.get(`${(await w.game()).url}/api/games`, { token: await w.token('games:read') })).body.games,
      undefined,
    )
  },
  'Origins / Studio': async (t, w) => t.equal((await w.get(`${w.studio}/api/assets`)).status, 200),
  'Origins / Game domain': async (t, w) => {
    const game = await w.game()
    t.equal(game.url, w.platform.app.origins.game(game.slug))
    t.match((await w.get(game.url)).body, 'Pong')
    t.equal((await w.get(w.platform.app.origins.game('nobody-lives-here'))).status, 404)
  },

  'Game session / signedIn': sessionField('signedIn', true),
  'Game session / user': sessionField('user', { id: /^ply_/, name: 'Ada', imageUrl: PNG }),
  'Game session / scope': sessionField('scope', 'profile'),
  'Game session / expiresAt': sessionField('expiresAt', ISO),

  'Game / title': required('title', { description: '' }),
  'Game / description': required('description', { title: 'Pong' }),
  'Game / url': async (t, w) => {
    const token = await w.token('games:write', 'oauth:read')
    const made = await w.createGame({ url: 'https://pong.example' })
    t.match(made, {
      url: /^https:\/\/pong\.example/,
      oauth: { redirectUri: 'https://pong.example/auth/service/callback' },
    })
    await w.http('PATCH', `/api/games/${made.id}`, { token, body: { url: 'https://moved.example' } })
    const { body } = await w.get('/api/oauth/apps?limit=100', { token })
    const app = body.apps.find(({ gameId }: { gameId: string }) => gameId === made.id)
    t.same(app.redirectUris, ['https://moved.example/auth/service/callback'], 'the redirect URI follows')
  },
  'Game / tags': field('tags', ['co-op', 'arcade'], ['solo']),
  'Game / visibility': async (t, w) => {
    await field('visibility', 'private', 'public')(t, w)
    const bad = { title: 'x', description: '', visibility: 'secret' }
    t.equal((await w.post('/api/games', { token: await w.token('games:write'), body: bad })).status, 400)
  },
  'Game / playable': async (t, w) => {
    const made = await w.createGame()
    const token = await w.token('games:write')
    for (const playable of [false, true]) {
      t.match(await w.http('PATCH', `/api/games/${made.id}`, { token, body: { playable } }), {
        status: 200,
        body: { playable },
      })
    }
  },

  'Portal API / POST /api/games': async (t, w) => {
    const game = await w.createGame({ visibility: 'private' })
    t.match(game, {
      id: /^gam_/,
      visibility: 'private',
      oauth: { clientId: String, clientSecret: String, redirectUri: `${game.url}/auth/service/callback` },
      integrationPrompt: game.oauth.clientId,
    })
    t.notMatch(game.integrationPrompt, game.oauth.clientSecret, 'the prompt has no secret')
  },
  'Portal API / PATCH /api/games/{id}': async (t, w) => {
    const { id } = await w.createGame()
    const token = await w.token('games:write')
    const changes = { title: 'New', description: 'Newer', playable: false, visibility: 'private' }
    t.match(await w.http('PATCH', `/api/games/${id}`, { token, body: changes }), { status: 200, body: changes })
    const unknown = await w.http('PATCH', `/api/games/${id}`, { token, body: { nothing: 1 } })
    t.match(unknown, { status: 400, body: { error: { code: 'invalid_request' } } })
    const stranger = (await w.createToken(['games:write'], {}, await w.player())).token
    t.equal((await w.http('PATCH', `/api/games/${id}`, { token: stranger, body: changes })).status, 404)
  },
  'Portal API / POST /api/deploy': async (t, w) => {
    const { id } = await w.createGame()
    const { begun } = await w.upload(id, `<!doctype html>${id}`)
    t.match(begun.body, { deployId: /^dep_/, uploads: [{ path: 'index.html', uploadUrl: /^http/ }] })
  },
  'Portal API / POST /api/deploy/{deployId}/finalize': async (t, w) => {
    const { live, url, slug } = await w.game()
    t.match(live, {
      status: 200,
      body: {
        url,
        playUrl: `${w.portal}/games/${slug}`,
        manageUrl: `${w.portal}/games/${slug}/settings`,
        auth: { enabled: true, startUrl: `${url}/auth/service/start`, sessionUrl: `${url}/auth/service/session` },
        multiplayer: { enabled: true },
      },
    })
    const game = await w.createGame()
    const body = { gameId: game.id, files: [{ path: 'index.html', size: 3, sha256: 'b'.repeat(64) }] }
    const token = await w.token('deployments:write')
    const { deployId } = (await w.post('/api/deploy', { token, body })).body
    const early = await w.post(`/api/deploy/${deployId}/finalize`, { token })
    t.match(early, { status: 409, body: { error: { code: 'incomplete_deploy' } } }, 'not before every file is there')
    t.equal((await w.get(game.url)).status, 404, 'and nothing is live')
  },

  'Game domain routes / GET /auth/service/start': async (t, w) => {
    const { start } = await w.signInToGame()
    t.equal(start.status, 302)
    t.match(start.headers.location, `${w.portal}/oauth/authorize?`)
  },
  'Game domain routes / GET /auth/service/callback': async (t, w) => {
    const { callback } = await w.signInToGame('/level/2')
    t.match(callback, { status: 302, headers: { location: /^\/level\/2$/ } })
    t.match(
      String(callback.headers['set-cookie']),
      /gameyard_game_\d+=[^;]+; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax/,
    )
  },
  'Game domain routes / GET /auth/service/session': async (t, w) => {
    const { url } = await w.game()
    const { status, headers } = await w.get(`${url}/auth/service/session`, {
      headers: { cookie: await w.gameSession() },
    })
    t.match({ status, headers }, { status: 200, headers: { 'cache-control': 'no-store' } })
  },
  'Game domain routes / GET or POST /auth/service/logout': async (t, w) => {
    const { url } = await w.game()
    for (const method of ['GET', 'POST']) {
      const { cookie } = await w.signInToGame()
      t.equal((await w.get(`${url}/auth/service/session`, { headers: { cookie } })).body.signedIn, true)
      const out = await w.http(method, `${url}/auth/service/logout`, { headers: { cookie } })
      t.equal(out.status, 200)
      t.equal(cookiesOf(out), '', 'the cookie is cleared')
      t.match(String(out.headers['set-cookie']), /gameyard_game_\d+=; Path=\/; Max-Age=0/)
    }
  },
  'Game domain routes / GET /mp': async (t, w) => {
    const { url } = await w.game()
    const { status, body } = await w.get(`${url}/mp`)
    t.equal(status, 200)
    t.match(body, {
      enabled: true,
      version: 1,
      rooms: /^ws.*\/mp\/rooms\/\{roomId\}$/,
      client: '/__service/multiplayer.js',
    })
    t.ok(body.docs)
  },
  'Game domain routes / WebSocket /mp/rooms/{roomId}': async (t, w) => {
    t.match(await socket(w, 'lobby', await w.gameSession()), {
      status: 101,
      body: { t: 'welcome', room: { id: 'lobby' } },
    })
  },
  'Game domain routes / GET /__service/multiplayer.js': async (t, w) => {
    const { url } = await w.game()
    const { status, headers, body } = await w.get(`${url}/__service/multiplayer.js`)
    t.match({ status, headers }, { status: 200, headers: { 'content-type': /^text\/javascript/ } })
    t.match(body, /export\s*\{[^}]*\bjoin\b/, 'an ES module')
  },
  'Game domain routes / GET /__service/auth-widget.js': async (t, w) => {
    const { url } = await w.game()
    const { status, headers } = await w.get(`${url}/__service/auth-widget.js`)
    t.match({ status, headers }, { status: 200, headers: { 'content-type': /^text\/javascript/ } })
    t.match((await w.get(url)).body, /<script[^>]+\/__service\/auth-widget\.js/, 'injected')
    for (const path of ['/auth/service/nothing', '/mp/nothing', '/__service/nothing']) {
      t.equal((await w.get(url + path)).status, 404, `${path} is reserved`)
    }
    t.match(await w.get(`${url}/some/level`), { status: 200, body: 'Pong' }, 'other paths fall through to index.html')
  },
  'Game domain routes / GET /__service/assets/{id-or-slug}.glb': async (t, w) => {
    const { url } = await w.game()
    for (const name of [(await w.publicAsset()).id, (await w.publicAsset()).slug]) {
      const { status, headers, body } = await w.get(`${url}/__service/assets/${name}.glb`)
      t.match(
        { status, headers },
        { status: 200, headers: { 'access-control-allow-origin': '*', 'cache-control': /max-age=86400/ } },
      )
      t.match(String(body), /^glTF/)
    }
    t.equal((await w.get(`${url}/__service/assets/${(await w.privateAsset()).id}.glb`)).status, 404, 'public ones only')
  },

  'Errors / 401 auth_required': async (t, w) => {
    const refused = await socket(w, 'lobby')
    t.same(refused, { status: 401, body: { error: 'auth_required', signIn: '/auth/service/start' } })
  },
  'Errors / 400 invalid callback': async (t, w) => {
    const { url } = await w.game()
    const { start, authorized } = await w.signInToGame()
    const back = String(authorized.headers.location)
    const cookie = cookiesOf(start)
    for (const [address, why] of [
      [back.replace(/code=[^&]+/, ''), 'no code'],
      [back.replace(/state=[^&]+/, 'state=AAAAAAAAAAAAAAAAAAAAAA'), 'another state'],
      [`${url}/auth/service/callback`, 'nothing'],
      [back, 'a code that is used up'],
    ]) {
      const { status, body } = await w.get(address as string, { headers: { cookie } })
      t.match({ status, body }, { status: 400, body: { error: { code: String } } }, why as string)
    }
    const failed = await w.redeem('nonsense')
    t.match(failed, { status: 400, body: { error: 'invalid_grant' } }, 'a failed exchange')
  },
  'Limits / roomId': async (t, w) => {
    const cookie = await w.gameSession()
    for (const room of ['a', 'A_z.9~-', 'r'.repeat(64)]) t.equal((await socket(w, room, cookie)).status, 101, room)
    for (const room of ['r'.repeat(65), 'a%20b', 'a%2Fb', '%C3%A9']) {
      t.ok([400, 404].includes((await socket(w, room, cookie)).status), room)
    }
  },
}

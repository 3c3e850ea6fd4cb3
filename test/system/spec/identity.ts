// Players, OAuth, tokens and scopes.

import { until } from '../../kit/until.ts'
import { CALLBACK, type Case, type Cases, ISO, type World } from './world.ts'

/** A field of the token endpoint's answer. */
const answered =
  (field: string, shape: unknown): Case =>
  async (t, w) =>
    t.match((await w.tokens()).body, { [field]: shape })

/** A field of `user` in the token endpoint's answer. */
const playerField =
  (field: string, shape: unknown): Case =>
  async (t, w) =>
    t.match((await w.tokens()).body.user, { [field]: shape })

/** A field of a token in the list. */
const listed =
  (field: string, shape: unknown): Case =>
  async (t, w) => {
    const made = await w.createToken(['games:read'])
    const { body } = await w.get('/api/tokens', { cookie: (await w.owner()).cookie })
    const found = body.tokens.find(({ id }: { id: string }) => id === made.id)
    t.ok(Object.hasOwn(found, field), 'it is there')
    t.match(found, { [field]: shape })
    t.notOk(Object.hasOwn(found, 'token'), 'the plaintext is not')
  }

/** Something that the scope grants is answered with it, and refused without. */
const scope =
  (name: string, ask: (w: World, token: string) => Promise<{ status: number; body: unknown }>): Case =>
  async (t, w) => {
    const granted = await ask(w, await w.token(name))
    t.ok(
      ![401, 403].includes(granted.status),
      `with it: ${granted.status} ${JSON.stringify(granted.body).slice(0, 200)}`,
    )
    const other = name === 'games:read' ? 'oauth:read' : 'games:read'
    t.match(await ask(w, await w.token(other)), {
      status: 403,
      body: { error: { code: 'missing_scope', message: `API token is missing the ${name} scope.` } },
    })
  }

const preset =
  (title: string, scopes: string[]): Case =>
  async (t, w) => {
    const { cookie } = await w.owner()
    const { body } = await w.get('/settings/tokens', { cookie })
    t.match(body, title, 'on the page')
    t.equal((await w.createToken(scopes)).scopes.join(), scopes.join())
    const radio = new RegExp(`<label[^>]*>(?:(?!</label>).)*${title}`, 's').exec(String(body))
    t.ok(radio)
  }

const ALL = ['assets:read', 'assets:write', 'assets:generate', 'games:read', 'games:write', 'deployments:write']
const EVERY = [...ALL, 'oauth:read', 'oauth:write', 'ai:generate']

export const identity: Cases = {
  'Player / id': async (t, w) => t.equal((await w.tokens()).body.user.id, (await w.owner()).id),
  'Player / email': async (t, w) => {
    t.equal((await w.tokens()).body.user.email, (await w.owner()).email)
    const without = await w.redeem((await w.code('profile')).code)
    t.notOk(Object.hasOwn(without.body.user, 'email'), 'only when the scope includes it')
  },
  'Player / name': playerField('name', 'Ada'),
  'Player / image_url': playerField('image_url', /^https?:\/\//),

  'Token response / access_token': answered('access_token', /^\S{20,}$/),
  'Token response / token_type': answered('token_type', 'Bearer'),
  'Token response / expires_in': answered('expires_in', 3600),
  'Token response / scope': answered('scope', 'profile email'),
  'Token response / user': answered('user', { id: /^ply_/, name: String }),

  'API token / id': listed('id', /^tok_/),
  'API token / label': listed('label', 'spec'),
  'API token / kind': listed('kind', 'api'),
  'API token / prefix': listed('prefix', /^svc_api_/),
  'API token / scopes': listed('scopes', ['games:read']),
  'API token / createdAt': listed('createdAt', ISO),
  'API token / lastUsedAt': async (t, w) => {
    const made = await w.createToken(['games:read'])
    const find = async () =>
      (await w.get('/api/tokens', { cookie: (await w.owner()).cookie })).body.tokens.find(
        ({ id }: { id: string }) => id === made.id,
      )
    t.equal((await find()).lastUsedAt, null)
    await w.get('/api/games', { token: made.token })
    t.match(await until(async () => (await find()).lastUsedAt), ISO, 'once it is used')
  },
  'API token / expiresAt': async (t, w) => {
    t.match((await w.createToken(['games:read'])).expiresAt, ISO)
    t.equal((await w.createToken(['games:read'], { expiresInDays: null })).expiresAt, null, 'null: never')
  },

  'Token kinds / svc_api_': async (t, w) =>
    t.match(await w.createToken(['games:read']), { token: /^svc_api_/, kind: 'api' }),
  'Token kinds / svc_cli_': async (t, w) => {
    const token = await w.cliToken()
    t.match(token, /^svc_cli_/)
    t.equal((await w.get('/api/oauth/apps', { token })).status, 200, 'full access')
    t.equal((await w.http('DELETE', '/api/cli/tokens', { token })).status, 204)
    t.equal((await w.get('/api/oauth/apps', { token })).status, 401, 'revoked by the logout')
  },

  'Scopes / assets:read': scope('assets:read', (w, token) => w.get(`${w.studio}/api/assets?owner=me`, { token })),
  'Scopes / assets:write': scope('assets:write', async (w, token) =>
    w.http('PATCH', `${w.studio}/api/assets/${(await w.privateAsset()).id}`, { token, body: { tags: ['x'] } }),
  ),
  'Scopes / assets:generate': scope('assets:generate', (w, token) =>
    w.post(`${w.studio}/api/blender/v1/jobs`, { token, body: { nothing: true } }),
  ),
  'Scopes / games:read': scope('games:read', (w, token) => w.get('/api/games', { token })),
  'Scopes / games:write': scope('games:write', (w, token) =>
    w.post('/api/games', { token, body: { title: 'Scoped', description: '' } }),
  ),
  'Scopes / deployments:write': scope('deployments:write', async (w, token) =>
    w.post('/api/deploy', {
      token,
      body: { gameId: (await w.game()).id, files: [{ path: 'index.html', size: 1, sha256: 'a'.repeat(64) }] },
    }),
  ),
  'Scopes / oauth:read': scope('oauth:read', (w, token) => w.get('/api/oauth/apps', { token })),
  'Scopes / oauth:write': scope('oauth:write', (w, token) =>
    w.post('/api/oauth/apps', { token, body: { name: 'Scoped', redirectUris: [CALLBACK] } }),
  ),
  'Scopes / ai:generate': scope('ai:generate', (w, token) => w.get('/api/ai/credits', { token })),

  'Presets / Assets read-only': preset('Assets read-only', ['assets:read']),
  'Presets / Game builder (default)': preset('Game builder', [
    'assets:read',
    'games:read',
    'games:write',
    'deployments:write',
  ]),
  'Presets / Full access': preset('Full access', EVERY),

  'States of an API token / active: DELETE /api/tokens/{id}': async (t, w) => {
    const { id, token } = await w.createToken(['games:read'])
    const { cookie } = await w.owner()
    t.equal((await w.get('/api/games', { token })).status, 200)
    t.equal((await w.http('DELETE', `/api/tokens/${id}`, { cookie })).status, 204)
    t.equal((await w.get('/api/games', { token })).status, 401, 'at once')
    t.equal((await w.http('DELETE', `/api/tokens/${id}`, { cookie })).status, 404, 'again')
  },
  'States of an API token / active (the calling token): DELETE /api/cli/tokens': async (t, w) => {
    const { token } = await w.createToken(['games:read'])
    t.equal((await w.http('DELETE', '/api/cli/tokens', { token })).status, 204)
    t.equal((await w.get('/api/cli/whoami', { token })).status, 401)
  },

  'OAuth / GET /oauth/authorize': async (t, w) => {
    const { clientId } = await w.application()
    const { back, state, code } = await w.code()
    t.equal(back.origin + back.pathname, CALLBACK)
    t.equal(back.searchParams.get('state'), state)
    t.match(code, /^\S{20,}$/)
    const query = new URLSearchParams({ response_type: 'code', client_id: clientId, redirect_uri: CALLBACK, state })
    const stranger = await w.get(`/oauth/authorize?${query}`)
    t.match(stranger, { status: 303, headers: { location: /\/sign-in\?/ } }, 'the player signs in first')
    query.set('redirect_uri', 'https://evil.example/')
    const evil = await w.get(`/oauth/authorize?${query}`, { cookie: (await w.owner()).cookie })
    t.equal(evil.status, 400)
    t.equal(evil.headers.location, undefined, 'an unknown redirect URI gets none')
  },
  'OAuth / POST /api/oauth/token': async (t, w) => {
    const answer = await w.redeem((await w.code()).code)
    t.match(answer, { status: 200, headers: { 'content-type': /^application\/json/, 'cache-control': 'no-store' } })
    t.match(Object.keys(answer.body).sort(), ['access_token', 'expires_in', 'scope', 'token_type', 'user'])
    const json = await w.post('/api/oauth/token', { body: { grant_type: 'authorization_code' } })
    t.match(json.body, { error: 'invalid_request' }, 'form-encoded only')
    t.match(await w.redeem((await w.code()).code, { client_secret: 'wrong' }), {
      status: 401,
      body: { error: 'invalid_client' },
    })
  },
  'OAuth / GET /api/oauth/userinfo': async (t, w) => {
    const { access_token: token } = (await w.tokens()).body
    const { id, email } = await w.owner()
    t.match(await w.get('/api/oauth/userinfo', { token }), { status: 200, body: { sub: id, name: 'Ada', email } })
    const refused = await w.get('/api/oauth/userinfo', { token: 'nonsense' })
    t.match(refused, { status: 401, headers: { 'www-authenticate': /invalid_token/ } })
  },

  'Portal API / GET /api/cli/whoami': async (t, w) => {
    const { id, email } = await w.owner()
    const { body } = await w.get('/api/cli/whoami', { token: await w.token('games:read') })
    t.same(body, { user: { id, name: 'Ada', email }, tokenLabel: 'spec' })
    t.equal((await w.get('/api/cli/whoami')).status, 401)
  },
  'Portal API / DELETE /api/cli/tokens': async (t, w) => {
    const { token } = await w.createToken(['games:read'])
    t.same(await w.http('DELETE', '/api/cli/tokens', { token }).then(({ status, body }) => [status, body]), [204, ''])
    t.equal((await w.http('DELETE', '/api/cli/tokens', { token })).status, 401)
  },
  'Portal API / GET /api/tokens': async (t, w) => {
    const { cookie } = await w.owner()
    t.match(await w.get('/api/tokens', { cookie }), { status: 200, body: { tokens: Array } })
    t.ok([401, 403].includes((await w.get('/api/tokens', { token: await w.token('games:read') })).status), 'no bearer')
  },
  'Portal API / POST /api/tokens': async (t, w) => {
    const made = await w.createToken(['games:read', 'assets:read'], { label: 'A build', expiresInDays: 90 })
    t.match(made, { label: 'A build', kind: 'api', scopes: ['assets:read', 'games:read'].sort(), token: /^svc_api_/ })
    const { cookie } = await w.owner()
    const unknown = await w.post('/api/tokens', { cookie, body: { label: 'x', scopes: ['everything'] } })
    t.match(unknown, { status: 400, body: { error: { code: 'invalid_request' } } })
    const foreign = await w.post('/api/tokens', {
      cookie,
      headers: { origin: 'https://evil.example' },
      body: { label: 'x', scopes: [] },
    })
    t.match(foreign, { status: 403, body: { error: { code: 'forbidden' } } }, 'from our own pages only')
  },
  'Portal API / DELETE /api/tokens/{id}': async (t, w) => {
    const { id } = await w.createToken(['games:read'])
    const other = await w.player()
    t.equal((await w.http('DELETE', `/api/tokens/${id}`, { cookie: other.cookie })).status, 404, "another's")
    t.equal((await w.http('DELETE', `/api/tokens/${id}`, { cookie: (await w.owner()).cookie })).status, 204)
  },
  'Portal API / POST /api/oauth/apps': async (t, w) => {
    const token = await w.token('oauth:write')
    const game = await w.createGame()
    const body = { name: 'Relay', homepageUrl: 'https://relay.example', gameId: game.id, redirectUris: [CALLBACK] }
    const made = await w.post('/api/oauth/apps', { token, body: { ...body, gameId: undefined } })
    t.match(made, { status: 201, body: { clientId: /^\S+$/, clientSecret: /^\S{20,}$/, name: 'Relay' } })
    const read = await w.get(`/api/oauth/apps/${made.body.id}`, { token: await w.token('oauth:read') })
    t.match(read.body, { homepageUrl: 'https://relay.example', redirectUris: [CALLBACK], gameId: null })
    t.notOk(Object.hasOwn(read.body, 'clientSecret'), 'the secret is shown once')
    const linked = await w.post('/api/oauth/apps', { token, body })
    t.match(linked, { status: 201, body: { gameId: game.id } }, 'for a game')
    const wrong = await w.post('/api/oauth/apps', {
      token,
      body: { ...body, gameId: undefined, redirectUris: ['ftp://x'] },
    })
    t.equal(wrong.status, 400)
  },

  'Limits / token expiry options': async (t, w) => {
    const { cookie } = await w.owner()
    const now = w.platform.clock.now().getTime()
    for (const expiresInDays of [30, 90, 365]) {
      const { expiresAt } = await w.createToken(['games:read'], { expiresInDays })
      t.equal(Math.round((Date.parse(expiresAt) - now) / 86_400_000), expiresInDays)
    }
    const { expiresAt } = await w.createToken(['games:read'], { expiresInDays: undefined })
    t.equal(Math.round((Date.parse(expiresAt) - now) / 86_400_000), 90, 'the default')
    for (const expiresInDays of [0, 31, 366, '30']) {
      const { status } = await w.post('/api/tokens', {
        cookie,
        body: { label: 'x', scopes: ['games:read'], expiresInDays },
      })
      t.equal(status, 400, String(expiresInDays))
    }
  },
  'Limits / access token lifetime': async (t, w) => t.equal((await w.tokens()).body.expires_in, 3600),

  'Errors / 403 API token is missing the <scope> scope.': async (t, w) =>
    t.match(await w.post('/api/games', { token: await w.token('games:read'), body: { title: 'x', description: '' } }), {
      status: 403,
      body: { error: { message: 'API token is missing the games:write scope.', code: 'missing_scope' } },
    }),
}

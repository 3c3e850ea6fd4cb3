import t from 'tap'
import { Consent } from '../../../plugins/oauth-idp/oauth/entities.ts'
import { PlayerRow } from '../../../plugins/oauth-idp/players/entities.ts'
import {
  authorizeUrl,
  callEndpoint,
  decide,
  obtainCode,
  pkce,
  REDIRECT_URI,
  redirectParameters,
  registerApp,
} from '../../kit/oauth.ts'
import { Client, startPlatform } from '../../kit/platform.ts'

const CALLBACK = 'http://127.0.0.1:33418/callback'
const { verifier, challenge } = pkce()
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' }
const ACCEPT = { headers: { accept: 'application/json, text/event-stream' } }

t.test('sign-in of coding assistants', async (t) => {
  const platform = await startPlatform(t, { config: { limits: { rateLimits: true, registrationsPerHour: 40 } } })
  const { stranger, portal } = platform
  const resource = `${portal}/mcp`
  const ada = await platform.signUp({ name: 'Ada' })
  const call = (token: string, path = '/mcp') => new Client(platform.app, token).post(path, PING, ACCEPT)

  const register = async (fields: Record<string, unknown> = {}) =>
    stranger.post('/api/oauth/register', { client_name: 'Quill', redirect_uris: [CALLBACK], ...fields })
  const newClient = async (fields: Record<string, unknown> = {}) => {
    const { body } = await register(fields)
    return { id: '', clientId: body.client_id as string, clientSecret: '' }
  }
  const asked = { redirect_uri: CALLBACK, resource, scope: 'games:read games:write', ...challenge }
  const redeem = (client: { clientId: string }, code: string, changes: Record<string, string> = {}) =>
    stranger.submit(
      '/api/oauth/token',
      {
        grant_type: 'authorization_code',
        client_id: client.clientId,
        code,
        redirect_uri: CALLBACK,
        code_verifier: verifier,
        resource,
        ...changes,
      },
      { headers: { origin: undefined } },
    )

  t.test('the answer to a registration says how id tokens would be signed', async (t) => {
    for (const [wanted, chosen] of [
      ['RS256', 'RS256'],
      ['ES256', 'ES256'],
      ['none', 'ES256'],
      [undefined, 'ES256'],
    ]) {
      const { status, body } = await register(wanted ? { id_token_signed_response_alg: wanted } : {})
      t.match([status, body.id_token_signed_response_alg], [201, chosen])
      t.match(await platform.app.identity.apps.find(body.client_id), { idTokenAlgorithm: chosen })
    }
  })

  t.test('the metadata leads from the endpoint to registration', async (t) => {
    const { headers } = await stranger.post('/mcp', PING)
    const [, address] = /resource_metadata="([^"]+)"/.exec(headers['www-authenticate'] ?? '') ?? []
    const { body, headers: cors } = await stranger.get(new URL(address as string).pathname)
    t.match(body, { resource, authorization_servers: [portal], scopes_supported: ['games:read', 'games:write'] })
    t.equal(cors['access-control-allow-origin'], '*')
    t.match((await stranger.get('/.well-known/oauth-authorization-server')).body, {
      registration_endpoint: `${portal}/api/oauth/register`,
      client_id_metadata_document_supported: true,
      code_challenge_methods_supported: ['S256'],
    })
  })

  t.test('a client registers itself, is allowed, works, renews its token and is disconnected', async (t) => {
    const registered = await register({ token_endpoint_auth_method: 'none', grant_types: ['authorization_code'] })
    t.match(registered, {
      status: 201,
      body: { client_id: /^svc_client_/, client_name: 'Quill', token_endpoint_auth_method: 'none' },
    })
    t.notHas(registered.body, 'client_secret')
    const client = { id: '', clientId: registered.body.client_id, clientSecret: '' }
    // Another port than the registered one: a program learns its own when it starts.
    const redirect_uri = 'http://127.0.0.1:50123/callback'
    const page = await ada.get(authorizeUrl(client, { ...asked, redirect_uri }))
    t.equal(page.status, 200, 'the player is asked')
    for (const words of [
      'Quill',
      'See your games',
      'Create and change your games',
      'chose its name itself',
      '127.0.0.1:50123',
    ]) {
      t.match(page.text, words)
    }
    const code = await obtainCode(ada, client, { ...asked, redirect_uri })
    const { status, body } = await redeem(client, code, { redirect_uri })
    t.match({ status, body }, { status: 200, body: { token_type: 'Bearer', scope: 'games:read games:write' } })
    t.equal((await call(body.access_token)).status, 200)
    t.equal(
      (await ada.get(authorizeUrl(client, asked))).status,
      200,
      'the player is asked again: the name proves nothing',
    )

    const renewed = await stranger.submit(
      '/api/oauth/token',
      { grant_type: 'refresh_token', client_id: client.clientId, refresh_token: body.refresh_token, resource },
      { headers: { origin: undefined } },
    )
    t.equal(renewed.status, 200)
    t.equal((await call(renewed.body.access_token)).status, 200)
    const { slug } = await platform.game(ada, { title: 'Dots' })
    t.match((await ada.get('/settings/connected')).text, /Last use.*never/s)
    const tool = { ...PING, method: 'tools/call', params: { name: 'game_get', arguments: { id: slug } } }
    const assistant = new Client(platform.app, renewed.body.access_token)
    t.equal((await assistant.post('/mcp', tool, ACCEPT)).status, 200)
    t.match((await ada.get('/settings/connected')).text, `<code>game_get, ${slug}</code>`, 'what it last did')
    await ada.submit(`/settings/connected/${client.clientId}/revoke`, {})
    t.equal((await call(renewed.body.access_token)).status, 401, 'disconnected')
  })

  t.test('the list of connections keeps the capitals of names', async (t) => {
    const client = await newClient()
    const bob = await platform.signUp({ name: 'Bob' })
    await redeem(client, await obtainCode(bob, client, { ...asked, scope: 'assets:generate ai:generate' }))
    const { text } = await bob.get('/settings/connected')
    for (const words of ['spend your credits on AI', 'run Blender jobs for you']) t.match(text, words)
  })

  t.test('consent for the tools is none for the API of games, even where a scope has the same name', async (t) => {
    const cleo = await platform.signUp({ name: 'Cleo' })
    const app = await registerApp(platform, ada)
    const spending = authorizeUrl(app, { scope: 'ai:generate' })
    const scopes = 'games:read ai:generate'
    const forTools = { scope: scopes, resource, ...challenge }
    await obtainCode(cleo, app, forTools)
    const words = /spend your credits on AI; see your games</
    t.match((await cleo.get('/settings/connected')).text, words)
    t.match(await cleo.get(spending), { status: 200, text: /wants to know who you are/ })
    await obtainCode(cleo, app, { scope: 'ai:generate' })
    t.equal((await cleo.get(spending)).status, 303)
    t.match(
      (await cleo.get('/settings/connected')).text,
      /your credits, to spend; spend your credits on AI; see your games</,
    )
    await platform.app.identity.consents.noteUse(cleo.id, app.clientId, {
      at: platform.clock.now(),
      what: 'games_list',
    })
    t.match((await cleo.get('/settings/connected')).text, '<code>games_list</code>', 'its last use')

    await platform.app.db
      .em()
      .nativeUpdate(Consent, { clientId: app.clientId }, { scope: 'ai:generate games:read profile' })
    t.equal((await cleo.get(spending)).status, 200, 'a row of an earlier version may be from the tools')
    t.equal((await cleo.get(authorizeUrl(app, { scope: 'profile' }))).status, 303)
    t.match((await cleo.get('/settings/connected')).text, words)
    await obtainCode(cleo, app, { scope: 'ai:generate' })
    t.equal((await cleo.get(spending)).status, 303, 'asked once')
  })

  t.test('audience: a token for the tools is good for nothing else, and no other token for the tools', async (t) => {
    const client = await newClient()
    const { body } = await redeem(client, await obtainCode(ada, client, asked))
    const assistant = new Client(platform.app, body.access_token)
    for (const path of [
      '/api/games',
      '/api/oauth/userinfo',
      '/api/ai/credits',
      '/api/saves',
      '/api/cli/whoami',
      '/api/assets?owner=me',
    ]) {
      t.match((await assistant.get(path)).status, /40[13]/, path)
    }
    const app = await registerApp(platform, ada)
    const player = await platform.stranger.submit(
      '/api/oauth/token',
      {
        grant_type: 'authorization_code',
        client_id: app.clientId,
        client_secret: app.clientSecret,
        code: await obtainCode(ada, app, { scope: 'profile ai:generate' }),
        redirect_uri: REDIRECT_URI,
      },
      { headers: { origin: undefined } },
    )
    t.equal(player.status, 200)
    t.equal((await call(player.body.access_token)).status, 403)
    const unknown = redirectParameters(
      await ada.get(authorizeUrl(client, { ...asked, resource: `${portal}/api` })),
      CALLBACK,
    )
    t.equal(unknown?.error, 'invalid_target')
    const none = redirectParameters(await ada.get(authorizeUrl(client, { ...asked, resource: undefined })), CALLBACK)
    t.equal(none?.error, 'invalid_target', 'a self-registered client asks for the tools only')
    const mixed = redirectParameters(
      await ada.get(authorizeUrl(client, { ...asked, scope: 'games:read email' })),
      CALLBACK,
    )
    t.equal(mixed?.error, 'invalid_scope')
    const code = await obtainCode(ada, client, asked)
    t.match(await redeem(client, code, { resource: 'https://elsewhere.example/mcp' }), {
      status: 400,
      body: { error: 'invalid_target' },
    })
  })

  t.test('PKCE is required, codes are single use, and bound to their client and address', async (t) => {
    const client = await newClient()
    const bare = { ...asked, code_challenge: undefined, code_challenge_method: undefined }
    t.equal(redirectParameters(await ada.get(authorizeUrl(client, bare)), CALLBACK)?.error, 'invalid_request')
    const code = await obtainCode(ada, client, asked)
    t.match((await redeem(client, code, { code_verifier: 'w'.repeat(43) })).body, { error: 'invalid_grant' })
    const other = await newClient()
    t.match((await redeem(other, code)).body, { error: 'invalid_grant' })
    const { body } = await redeem(client, code)
    t.equal((await call(body.access_token)).status, 200)
    t.match((await redeem(client, code)).body, { error: 'invalid_grant' })
    t.equal((await call(body.access_token)).status, 401, 'a replayed code ends what it gave')
    const elsewhere = await ada.get(authorizeUrl(client, { ...asked, redirect_uri: 'http://127.0.0.1:33418/other' }))
    t.equal(elsewhere.status, 400, 'an error page, no redirect')
    t.notOk(elsewhere.headers.location)
  })

  t.test('a credential that is malformed, or not in the header, is none', async (t) => {
    const valid = (await platform.program(ada)).token as string
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      'Bearer x y',
      'Bearer null',
      'Bearer svc_oat_',
      'Bearer x, Bearer y',
      'Basic Og==',
      "Bearer svc_oat_'; drop table players; --",
      `Bearer ${'x'.repeat(8000)}`,
      `,Bearer ${valid}`,
    ]) {
      const refused = await stranger.post('/mcp', PING, { headers: { ...ACCEPT.headers, authorization } })
      t.equal(refused.status, 401, authorization.slice(0, 60))
      t.match(refused.headers['www-authenticate'], /^Bearer .*resource_metadata="/)
    }
    t.equal((await stranger.post(`/mcp?access_token=${valid}`, PING, ACCEPT)).status, 401)
    t.equal((await call(valid)).status, 200)
  })

  t.test(
    'one of many redemptions succeeds, a used refresh token ends its family, and so does a disabled player',
    async (t) => {
      const eve = await platform.signUp({ name: 'Eve' })
      const client = await newClient()
      const code = await obtainCode(eve, client, asked)
      const redemptions = await Promise.all(Array.from({ length: 20 }, () => redeem(client, code)))
      t.ok(redemptions.filter(({ status }) => status === 200).length <= 1)

      const { body: first } = await redeem(client, await obtainCode(eve, client, asked))
      const renew = (refresh_token: string) =>
        stranger.submit(
          '/api/oauth/token',
          { grant_type: 'refresh_token', client_id: client.clientId, refresh_token, resource },
          { headers: { origin: undefined } },
        )
      const { body: second } = await renew(first.refresh_token)
      t.equal((await call(second.access_token)).status, 200)
      platform.clock.advance(10_001)
      t.match(await renew(first.refresh_token), { status: 400, body: { error: 'invalid_grant' } })
      t.equal((await call(second.access_token)).status, 401)

      const { body: third } = await redeem(client, await obtainCode(eve, client, asked))
      t.equal((await call(third.access_token)).status, 200)
      await platform.app.db.em().nativeUpdate(PlayerRow, { id: eve.id }, { disabled: true })
      await platform.app.events.emit('player.changed', { playerId: eve.id })
      t.equal((await call(third.access_token)).status, 401)
      t.equal((await renew(third.refresh_token)).status, 400)
    },
  )

  t.test('redirect URIs that run code, or lead into a network, are not registered', async (t) => {
    for (const uri of [
      'javascript:alert(1)',
      'data:text/html,x',
      'vbscript:x',
      'file:///etc/passwd',
      'blob:https://example.org/x',
      'about:blank',
      'http://10.0.0.1/callback',
      'http://192.168.1.1/callback',
      'http://169.254.169.254/latest',
      'http://example.org/callback',
      'https://example.org/callback#x',
      'https://*.example.org/callback',
      'https://user@example.org/callback',
      'cursor://x/y#z',
      'JAVASCRIPT:alert(1)//.x',
      'com.example',
    ]) {
      t.match(await register({ redirect_uris: [uri] }), { status: 400, body: { error: 'invalid_redirect_uri' } }, uri)
    }
    const many = Array.from({ length: 21 }, (_, index) => `http://127.0.0.1/${index}`)
    t.match(await register({ redirect_uris: many }), { status: 400, body: { error: 'invalid_client_metadata' } })
    t.match(await register({ redirect_uris: [] }), { status: 400, body: { error: /^invalid_/ } })
    t.match(await register({ redirect_uris: 'x' }), { status: 400, body: { error: 'invalid_client_metadata' } })
    t.match(await register({ response_types: ['token'] }), { status: 400, body: { error: 'invalid_client_metadata' } })
    for (const uri of [
      'https://example.org/callback',
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'com.example.app:/done',
    ]) {
      t.equal((await register({ redirect_uris: [uri] })).status, 201, uri)
    }
  })

  t.test('nobody is led to an https address that registered itself before a player has decided', async (t) => {
    const redirect_uri = 'https://quill.example/done'
    const client = await newClient({ redirect_uris: [redirect_uri] })
    const url = authorizeUrl(client, { ...asked, redirect_uri, scope: 'nothing' })
    for (const player of [stranger, ada])
      t.match(await player.get(url), { status: 400, headers: { location: undefined } })
    const denied = await decide(ada, authorizeUrl(client, { ...asked, redirect_uri }), 'deny')
    t.equal(redirectParameters(denied, redirect_uri)?.error, 'access_denied')
    const query = new URLSearchParams({ client_id: client.clientId, post_logout_redirect_uri: redirect_uri })
    t.match(await stranger.get(`/oauth/logout?${query}`), { status: 303, headers: { location: /^\/$/ } })
  })

  t.test('pages of a client that registered itself call the token endpoint once a player has allowed it', async (t) => {
    const origin = 'https://quill-pages.example'
    const redirect_uri = `${origin}/done`
    const client = await newClient({ redirect_uris: [redirect_uri] })
    const isAllowed = async () => {
      const answer = await stranger.request('OPTIONS', '/api/oauth/token', undefined, { headers: { origin } })
      return answer.headers['access-control-allow-origin'] === origin
    }
    t.notOk(await isAllowed())
    await obtainCode(ada, client, { ...asked, redirect_uri })
    t.ok(await isAllowed(), 'at once')
  })

  t.test('a client that takes the name of another is asked about, and shown without its tricks', async (t) => {
    const first = await newClient({ client_name: 'Quill' })
    await redeem(first, await obtainCode(ada, first, asked))
    const second = await newClient({ client_name: 'Qu\u202eill\n<script>alert(1)</script>' })
    const page = await ada.get(authorizeUrl(second, asked))
    t.equal(page.status, 200, 'the consent for the first is none for the second')
    t.notMatch(page.text, /<script>alert|\u202e/)
    t.match(page.text, 'chose its name itself')
  })

  t.test('consent needs the own page of a signed-in player', async (t) => {
    const client = await newClient()
    const request = authorizeUrl(client, asked).split('?')[1] as string
    const forged = { request, decision: 'allow' }
    t.equal((await ada.submit('/oauth/consent', forged, { headers: { origin: 'https://evil.example' } })).status, 403)
    t.equal(
      (await ada.submit('/oauth/consent', forged, { headers: { origin: platform.app.origins.game('x') } })).status,
      403,
    )
    const signedOut = await stranger.submit('/oauth/consent', forged)
    t.match(signedOut.headers.location, /^\/sign-in/)
    const token = (await platform.program(ada)).token as string
    t.match((await new Client(platform.app, token).submit('/oauth/consent', forged)).status, /40[13]/)
    const denied = redirectParameters(await decide(ada, authorizeUrl(client, asked), 'deny'), CALLBACK)
    t.equal(denied?.error, 'access_denied')
  })

  t.test('a client that nobody allowed is deleted after a day', async (t) => {
    const unused = await newClient()
    const used = await newClient()
    await redeem(used, await obtainCode(ada, used, asked))
    platform.clock.advance(25 * 3_600_000)
    await platform.app.identity.sweep()
    t.equal(await platform.app.identity.apps.find(unused.clientId), null)
    t.ok(await platform.app.identity.apps.find(used.clientId))
  })

  t.test('registrations from one address are limited', async (t) => {
    const answers = await Promise.all(Array.from({ length: 45 }, () => register()))
    const refused = answers.filter(({ status }) => status === 429)
    t.ok(refused.length >= 5)
    t.match(refused[0], { body: { error: 'temporarily_unavailable' }, headers: { 'retry-after': /\d+/ } })
  })
})

t.test('registration can be turned off', async (t) => {
  const platform = await startPlatform(t, { config: { oauth: { registration: 'off' } } })
  t.equal((await platform.stranger.post('/api/oauth/register', { redirect_uris: [CALLBACK] })).status, 404)
  const { body } = await platform.stranger.get('/.well-known/oauth-authorization-server')
  t.notHas(body, 'registration_endpoint')
  const ada = await platform.signUp()
  const url = authorizeUrl({ id: '', clientId: 'https://quill.example/client.json', clientSecret: '' })
  t.equal((await ada.get(url)).status, 400)
  // It registered itself before.
  const { clientId } = await platform.app.identity.registrations.register({ redirect_uris: [CALLBACK] })
  const asked = { redirect_uri: CALLBACK, resource: `${platform.portal}/mcp`, ...challenge }
  t.match(await ada.get(authorizeUrl({ id: '', clientId, clientSecret: '' }, asked)), {
    status: 400,
    text: /not registered/,
  })
  const refresh = { grant_type: 'refresh_token', refresh_token: 'x' }
  t.match(await callEndpoint(platform.stranger, { clientId }, 'token', refresh), { body: { error: 'invalid_client' } })
})

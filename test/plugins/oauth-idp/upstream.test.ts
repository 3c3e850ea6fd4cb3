import { createServer } from 'node:http'
import pino, { type Logger } from 'pino'
import t, { type Test } from 'tap'
import { followRedirects, startOidc } from '../../kit/oidc.ts'
import { Client, PASSWORD, startPlatform } from '../../kit/platform.ts'
import { linkIn, startSmtp } from '../../kit/smtp.ts'
import { until } from '../../kit/until.ts'

const only = ['oauth-idp', 'tokens']
const START = '/sign-in/with/club'
const CALLBACK = `http://localhost:8080${START}/callback`
const verified = (sub: string, email: string) => ({ sub, name: 'Ada Upstream', email, email_verified: true })

async function start(
  t: Test,
  auth: Record<string, unknown> = {},
  { log, ...config }: Record<string, unknown> & { log?: Logger } = {},
) {
  const oidc = await startOidc(t, CALLBACK)
  const club = { issuer: oidc.issuer, clientId: 'yard', clientSecret: 'upstream-secret-4711', label: 'the Club' }
  const platform = await startPlatform(t, {
    only,
    config: { ...config, auth: { providers: { club }, ...auth } },
    ...(log ? { log } : {}),
  })
  /** Out to the provider and back: what the callback answers. */
  const through = async (browser: Client, query = '') => {
    const out = await browser.get(START + query)
    if (out.status !== 303) return out
    const back = await followRedirects(out.headers.location as string)
    return browser.get(back.pathname + back.search)
  }
  return { platform, through, ...oidc }
}

t.test('an account elsewhere signs in: a new player at first, the same one later', async (t) => {
  const { platform, through, person } = await start(t)
  t.match((await platform.stranger.get('/sign-in')).text, /Continue with the Club/)
  person.current = verified('u1', 'ada@example.org')
  const browser = new Client(platform.app)
  const out = await browser.get(`${START}?returnTo=/settings`)
  const address = new URL(out.headers.location as string)
  t.match(address.searchParams.get('code_challenge_method'), 'S256')
  t.equal(address.searchParams.get('redirect_uri'), CALLBACK)
  t.match(await through(browser, '?returnTo=/settings'), { status: 303, headers: { location: /^\/settings$/ } })
  const { user } = (await browser.get('/api/auth/session')).body
  t.match(user, { name: 'Ada Upstream', email: 'ada@example.org', emailVerified: true, isGuest: false })

  const later = new Client(platform.app)
  t.equal((await through(later)).headers.location, '/')
  t.equal((await later.get('/api/auth/session')).body.user.id, user.id)
  t.match((await later.get('/settings/security')).text, /you need a sign-in of the last ten minutes.*Set a password/s)
  platform.clock.advance(601_000)
  const stale = await later.submit('/settings/password', { password: PASSWORD })
  t.match(stale, { status: 403, text: /Sign out and in again first/ }, 'not whoever finds a browser signed in')
  await later.post('/api/auth/sign-out')
  await through(later)
  t.equal(
    (await later.submit('/settings/password', { password: PASSWORD })).status,
    303,
    'and may have a password, too',
  )
  const credentials = { email: 'ada@example.org', password: PASSWORD }
  t.equal((await new Client(platform.app).post('/api/auth/sign-in', credentials)).status, 200)
  const away = await through(new Client(platform.app), '?returnTo=/.//evil.example')
  t.equal(away.headers.location, '/')
})

t.test('the address of an issuer may end in a slash', async (t) => {
  const oidc = await startOidc(t, CALLBACK)
  const club = { issuer: `${oidc.issuer}/`, clientId: 'yard', clientSecret: 'upstream-secret-4711' }
  const portal = { url: 'http://localhost:8080/' }
  const platform = await startPlatform(t, { only, config: { portal, auth: { providers: { club } } } })
  const browser = new Client(platform.app)
  const back = await followRedirects((await browser.get(START)).headers.location as string)
  t.equal(back.href.split('?', 1)[0], CALLBACK, 'and that of the portal')
  t.match(await browser.get(back.pathname + back.search), { status: 303, headers: { location: /^\/$/ } })
  t.equal((await browser.get('/.well-known/openid-configuration')).body.issuer, 'http://localhost:8080')
})

t.test('an unverified address is no address', async (t) => {
  const { platform, through, person } = await start(t)
  const owner = await platform.signUp({ email: 'ada@example.org' })
  person.current = { sub: 'mallory', name: 'Mallory', email: 'ada@example.org', email_verified: false }
  const browser = new Client(platform.app)
  t.match(await through(browser), { status: 303, headers: { location: /^\/$/ } })
  const { user } = (await browser.get('/api/auth/session')).body
  t.not(user.id, owner.id)
  t.equal(user.email, null)
})

t.test('an account without an address gets one and a password, and no longer needs its provider', async (t) => {
  for (const verifyEmail of [false, true]) {
    const { inbox, url } = await startSmtp(t)
    const mail = { driver: 'smtp', url, from: 'Yard <yard@example.org>' }
    const { platform, through, person } = await start(t, { verifyEmail, guests: true }, { mail })
    const { players } = platform.app.identity
    await players.createByHost({ name: 'Bob', email: 'bob@example.org', password: PASSWORD }, 'admin')
    person.current = { sub: 'u9', name: 'Ada', email: 'bob@example.org', email_verified: false }
    const ada = new Client(platform.app)
    await through(ada)
    const { id } = (await ada.get('/api/auth/session')).body.user
    const add = (email: string) => ada.submit('/settings/email', { email })
    const signIn = (email: string) => new Client(platform.app).post('/api/auth/sign-in', { email, password: PASSWORD })
    t.match((await ada.get('/settings')).text, /Add the address/)
    t.match((await ada.get('/settings/security')).text, /Add an email address/)
    t.equal((await ada.submit('/settings/password', { password: PASSWORD })).status, 404, 'no password without one')

    const taken = await add('bob@example.org')
    if (verifyEmail) {
      t.match(taken, { status: 202, text: /Look into your mail/ }, 'the same answer as for any other')
      const letter = await until(() => inbox.find(({ to }) => to.includes('bob@example.org')))
      t.match(letter.subject, /You have an account/)
    } else
      t.match(taken, { status: 409, text: /An account with this email address already exists/ }, 'as sign-up tells')
    t.match(await add('nonsense'), { status: 400, text: /whole email address/ })
    platform.clock.advance(601_000)
    t.match(await add('ada@example.org'), { status: 403, text: /Sign out and in again/ }, 'not for whoever finds it')
    await ada.post('/api/auth/sign-out')
    await through(ada)

    const added = await add('Ada@Example.org')
    if (verifyEmail) {
      t.equal(added.status, 202)
      const letter = await until(() => inbox.find(({ to }) => to.includes('ada@example.org')))
      const link = linkIn(letter)
      t.equal((await ada.get('/api/auth/session')).body.user.email, null, 'nothing has changed yet')
      const guest = new Client(platform.app)
      await guest.submit('/guest', { name: 'Eve' })
      t.equal((await guest.submit(link, {})).status, 403, 'it is for whoever asked')
      t.match(await ada.submit(link, {}), { status: 303, headers: { location: '/settings/security?done=address' } })
      t.notOk(
        inbox.some(({ subject }) => /was changed/.test(subject ?? '')),
        'there is no former address to tell',
      )
    } else t.match(added, { status: 303, headers: { location: '/settings/security?done=address' } })
    t.match((await ada.get('/api/auth/session')).body.user, {
      id,
      email: 'ada@example.org',
      emailVerified: verifyEmail,
    })
    t.equal((await ada.submit('/settings/password', { password: PASSWORD })).status, 303)
    const gone = await ada.submit('/settings/accounts/disconnect', { provider: 'club', subject: 'u9' })
    t.equal(gone.status, 303)
    t.match(await signIn('ada@example.org'), { status: 200, body: { user: { id } } })
    t.match(
      await signIn('bob@example.org'),
      { status: 200, body: { user: { name: 'Bob' } } },
      'whose account is as it was',
    )

    const guest = new Client(platform.app)
    await guest.submit('/guest', { name: 'Eve' })
    t.equal(
      (await guest.submit('/settings/email', { email: 'eve@example.org' })).status,
      404,
      'a guest becomes an account',
    )
  }
})

t.test('an address that has an account only leads to a question, which its owner answers', async (t) => {
  const { platform, through, person } = await start(t)
  const owner = await platform.signUp({ email: 'ada@example.org' })
  const eve = await platform.signUp()
  person.current = verified('u1', 'Ada@Example.org')
  const browser = new Client(platform.app)
  const asked = await through(browser)
  t.match(asked.headers.location, /^\/connect\/[\w-]{43}$/)
  const onTheWay = await through(new Client(platform.app), '?returnTo=/games/pong')
  t.match(onTheWay.headers.location, /^\/connect\/[\w-]{43}$/)
  const onward = await owner.submit(onTheWay.headers.location as string, {})
  t.match(onward, { status: 303, headers: { location: /^\/games\/pong$/ } }, 'and on to where they were going')
  await owner.submit('/settings/accounts/disconnect', { provider: 'club', subject: 'u1' })
  t.notOk((await browser.get('/api/auth/session')).body.signedIn, 'nobody is signed in by it')
  const question = asked.headers.location as string
  const signIn = await browser.get(question)
  t.match(signIn.headers.location, /^\/sign-in\?returnTo=/, 'the owner signs in first')
  const { text } = await browser.get(signIn.headers.location as string)
  t.match(text, /You have an account here with this email address/, 'and reads why')
  t.notMatch(text, /Play as a guest/, 'a guest could not connect it')
  t.equal((await eve.get(question)).status, 403)
  t.equal((await eve.submit(question, {})).status, 403)
  t.match((await owner.get(question)).text, /Connect the Club\?/)
  const foreign = await owner.submit(question, {}, { headers: { origin: 'http://pong.localhost:8080' } })
  t.equal(foreign.status, 403, "a game's page can't say yes")
  const answers = await Promise.all(Array.from({ length: 10 }, () => owner.submit(question, {})))
  t.equal(answers.filter(({ status }) => status === 303).length, 1, 'one yes')
  const later = new Client(platform.app)
  await through(later)
  t.equal((await later.get('/api/auth/session')).body.user.id, owner.id)

  t.match((await owner.get('/settings/security')).text, /Disconnect Ada@Example.org/)
  const gone = await owner.submit('/settings/accounts/disconnect', { provider: 'club', subject: 'u1' })
  t.equal(gone.status, 303)
  t.match((await through(new Client(platform.app))).headers.location, /^\/connect\//, 'it is asked anew')
})

t.test('who is signed in connects another account by a yes of their own', async (t) => {
  const { platform, through, person } = await start(t)
  const player = await platform.signUp()
  const other = await platform.signUp()
  person.current = verified('u7', 'elsewhere@example.org')
  const question = (await through(player)).headers.location as string
  t.match(question, /^\/connect\//, 'a planted callback connects nothing by itself')
  platform.clock.advance(601_000)
  const again = new URLSearchParams({ prompt: 'login', returnTo: question })
  t.match(
    await player.submit(question, {}),
    { status: 303, headers: { location: `/sign-in?${again}` } },
    'too long ago',
  )
  await player.post('/api/auth/sign-in', { email: player.account.email, password: PASSWORD })
  t.equal((await player.submit(question, {})).status, 303)
  t.equal((await through(player)).status, 303)
  t.match(await through(other), { status: 409, text: /connected to another player/ })
})

t.test('a flow that another browser began, or none did, is refused', async (t) => {
  const { platform, through, person } = await start(t)
  person.current = verified('mallory', 'mallory@example.org')
  const mallory = new Client(platform.app)
  const out = await mallory.get(START)
  const back = await followRedirects(out.headers.location as string)
  const victim = new Client(platform.app)
  const over = { status: 303, headers: { location: /^\/sign-in\?done=provider-over$/ } }
  t.match(await victim.get(back.pathname + back.search), over)
  await victim.get(START)
  t.match(await victim.get(back.pathname + back.search), over, "nor into the victim's own flow")
  t.notOk((await victim.get('/api/auth/session')).body.signedIn)
  t.match((await victim.get('/sign-in?done=provider-over')).text, /began in another browser/)
  t.match(await mallory.get(back.pathname + back.search), { status: 303, headers: { location: /^\/$/ } })
  const again = await mallory.get(back.pathname + back.search)
  t.match(again, { status: 303, headers: { location: /^\/$/ } }, 'a reloaded page leads on')
  await mallory.post('/api/auth/sign-out')
  t.match(await mallory.get(back.pathname + back.search), over, 'a code works once')
  t.match(await new Client(platform.app).get(`${START}/callback?error=access_denied&state=x`), over)
  t.equal((await platform.stranger.get('/sign-in/with/nobody')).status, 404)
  t.ok(through)
})

t.test('several tabs sign in at once, and the oldest of too many are forgotten', async (t) => {
  const { platform, person } = await start(t)
  person.current = verified('u1', 'ada@example.org')
  const browser = new Client(platform.app)
  const started = []
  for (let tab = 0; tab < 10; tab++) started.push(await browser.get(`${START}?returnTo=/tab/${tab}`))
  t.equal(
    [...browser.cookiesOf('localhost:8080').keys()].filter((name) => name.startsWith('gameyard_upstream_8080-')).length,
    8,
  )
  for (const [tab, path] of [
    [9, '/tab/9'],
    [2, '/tab/2'],
    [1, '/'],
  ] as const) {
    const back = await followRedirects(started[tab]?.headers.location as string)
    t.equal((await browser.get(back.pathname + back.search)).headers.location, path, `tab ${tab}`)
  }
})

t.test('a refusal of the provider leads back to where the player was, with a word when it is no choice', async (t) => {
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const { platform } = await start(t, {}, { log })
  const answerTo = async (browser: Client, error: string, description: string) => {
    const { headers } = await browser.get(`${START}?returnTo=/games/pong`)
    const state = new URL(headers.location as string).searchParams.get('state') ?? ''
    const query = new URLSearchParams({ error, state, error_description: description })
    return browser.get(`${START}/callback?${query}`)
  }
  const refused = async (browser: Client, error: string, description = '') =>
    (await answerTo(browser, error, description)).headers.location
  const browser = new Client(platform.app)
  t.equal(await refused(browser, 'access_denied', 'Out of tea'), '/sign-in?returnTo=%2Fgames%2Fpong')
  for (const nothing of ['', ' \u200b\u0007'])
    t.equal(await refused(browser, 'server_error', nothing), '/sign-in?returnTo=%2Fgames%2Fpong&done=provider')
  const failed = await refused(browser, 'server_error')
  t.match((await browser.get(failed as string)).text, /could not sign you in.*value="\/games\/pong"/s)
  const page = await answerTo(browser, 'server_error', `Out\u202e of\u0007\n\n<b>tea</b>${'.'.repeat(400)}`)
  t.equal(page.status, 403)
  t.match(page.text, /in the words of the Club:.*<blockquote>Out of &lt;b>tea&lt;\/b>\.{283}…<\/blockquote>/s)
  t.match(
    page.text,
    /href="\/sign-in\/with\/club\?returnTo=%2Fgames%2Fpong".*href="\/sign-in\?returnTo=%2Fgames%2Fpong"/s,
  )
  const planted = `${START}/callback?error=server_error&state=${'x'.repeat(22)}&error_description=Call+this+number`
  const over = { status: 303, headers: { location: '/sign-in?done=provider-over' } }
  t.match(await browser.get(planted), over, 'a link shows no words')

  const why = { provider: 'club', error: 'server_error', description: '' }
  t.match(
    lines.find(({ error }) => error === 'server_error'),
    why,
    'the log says why',
  )
  const player = await platform.signUp()
  t.equal((await player.get((await refused(player, 'access_denied')) as string)).headers.location, '/games/pong')
})

t.test('a text that says that an address is confirmed counts, another does not', async (t) => {
  const { platform, through, person } = await start(t)
  for (const [sub, text, email] of [
    ['u1', 'true', 'ada@example.org'],
    ['u2', 'false', null],
  ] as const) {
    person.current = { ...verified(sub, `${sub === 'u1' ? 'ada' : 'bob'}@example.org`), email_verified: text as never }
    const browser = new Client(platform.app)
    await through(browser)
    t.equal((await browser.get('/api/auth/session')).body.user.email, email)
  }
})

t.test('where sign-up is not open, an account elsewhere makes none', async (t) => {
  const { platform, through, person } = await start(t, { signUp: 'closed' })
  person.current = verified('u1', 'ada@example.org')
  t.match(await through(new Client(platform.app)), { status: 403, text: /administrator of this server creates/ })
  const admin = await platform.admin()
  t.match((await through(admin)).headers.location, /^\/connect\//, 'those there are may connect theirs')
})

t.test('an address at a blocked domain makes no account, and the page leads on', async (t) => {
  const { platform, through, person } = await start(t, { blockedEmailDomains: ['mail.example'] })
  person.current = verified('u1', 'ada@mail.example')
  const refused = await through(new Client(platform.app), '?returnTo=/games/pong')
  t.match(refused, {
    status: 400,
    text: /<h1>Sign-in refused<\/h1>[\s\S]*Addresses at mail\.example are not accepted here/,
  })
  t.match(refused.text, /href="\/sign-in\?returnTo=%2Fgames%2Fpong"[^>]*>Choose another way/)
  t.match(refused.text, /href="\/sign-in\/with\/club\?returnTo=%2Fgames%2Fpong"[^>]*>Try again/)
})

t.test('who is disabled is not let in', async (t) => {
  const { platform, through, person } = await start(t)
  await platform.admin()
  person.current = verified('u1', 'ada@example.org')
  const browser = new Client(platform.app)
  await through(browser)
  const { id } = (await browser.get('/api/auth/session')).body.user
  await platform.app.identity.administration.setDisabled(id, true, { reason: 'Spam.' })
  t.match(await through(new Client(platform.app)), {
    status: 403,
    text: /This account is disabled\. The reason: Spam\./,
  })
})

t.test('a provider that is away stops neither the start nor the next try', async (t) => {
  const { platform, through, server, issuer, person } = await start(t)
  person.current = verified('u1', 'ada@example.org')
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  t.match(await through(new Client(platform.app)), { status: 502, text: /the Club did not answer/ })
  await new Promise<void>((resolve) => server.listen(Number(new URL(issuer).port), '127.0.0.1', resolve))
  t.equal((await through(new Client(platform.app))).status, 303)
})

t.test('GitHub (an Enterprise Server of the test) names its people in its own way', async (t) => {
  const emails = [
    { email: 'other@example.org', primary: false, verified: true },
    { email: 'octo@example.org', primary: true, verified: true },
  ]
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url?.split('?')[0]} ${request.headers.authorization?.split(' ')[0] ?? ''}`)
    const bodies: Record<string, unknown> = {
      '/login/oauth/access_token': { access_token: 'gho_test', token_type: 'bearer', scope: 'read:user,user:email' },
      '/api/v3/user': { id: 583231, login: 'octocat', name: null },
      '/api/v3/user/emails': emails,
    }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(bodies[request.url as string] ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const issuer = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const github = { issuer, clientId: 'yard', clientSecret: 'upstream-secret-4711' }
  const platform = await startPlatform(t, { only, config: { auth: { providers: { github } } } })
  t.match((await platform.stranger.get('/sign-in')).text, /Continue with GitHub/)
  const browser = new Client(platform.app)
  const out = new URL((await browser.get('/sign-in/with/github')).headers.location as string)
  t.equal(out.pathname, '/login/oauth/authorize')
  const back = `/sign-in/with/github/callback?code=abc&state=${out.searchParams.get('state')}`
  t.equal((await browser.get(back)).status, 303)
  const { user } = (await browser.get('/api/auth/session')).body
  t.match(user, { name: 'octocat', email: 'octo@example.org', emailVerified: true })
  t.ok(seen.includes('GET /api/v3/user/emails Bearer'))
})

t.test('the configuration says what a provider lacks', async (t) => {
  const providers = { club: { clientId: 'yard', clientSecret: 'x' } }
  await t.rejects(startPlatform(t, { only, config: { auth: { providers } } }), { message: /club.*issuer/ })
})

t.test('the last way to sign in is kept, whichever it is', async (t) => {
  const { platform, through, person } = await start(t)
  const count = async () => (await platform.app.db.query('select subject from upstream_accounts')).length
  person.current = verified('u1', 'ada@example.org')
  const ada = new Client(platform.app)
  await through(ada)
  const disconnect = (subject: string) => ada.submit('/settings/accounts/disconnect', { provider: 'club', subject })
  const only = { status: 409, text: /This is the only way to sign in to this account. First set a password/ }
  t.match(await disconnect('u1'), only)
  t.equal((await disconnect('nothing')).status, 404)

  person.current = verified('u2', 'other@example.org')
  const question = (await through(ada)).headers.location as string
  await ada.submit(question, {})
  t.equal(await count(), 2)
  const both = await Promise.all([disconnect('u1'), disconnect('u2')])
  t.same(both.map(({ status }) => status).toSorted(), [303, 409], 'of two at once one is kept')
  t.equal(await count(), 1)

  // A key of the portal's former host signs nobody in.
  const [{ player_id } = { player_id: '' }] = await platform.app.db.query<{ player_id: string }>(
    'select player_id from upstream_accounts',
  )
  const addPasskey = (id: string, host: string) =>
    platform.app.db.execute(
      `insert into passkeys (id, player_id, public_key, counter, transports, rp_id, label, created_at)
       values (?, ?, '', 0, '[]', ?, 'Key', ?)`,
      [id, player_id, host, new Date()],
    )
  await addPasskey('former', 'former.example')
  const [{ subject } = { subject: '' }] = await platform.app.db.query<{ subject: string }>(
    'select subject from upstream_accounts',
  )
  t.match(await disconnect(subject), only)
  await addPasskey('key', 'localhost')
  t.equal((await disconnect(subject)).status, 303)
  t.match(await ada.submit('/settings/passkeys/remove', { id: 'key' }), only)
  t.equal((await ada.submit('/settings/passkeys/remove', { id: 'former' })).status, 303)
  t.equal((await ada.submit('/settings/password', { password: PASSWORD })).status, 303)
  t.equal((await ada.submit('/settings/passkeys/remove', { id: 'key' })).status, 303)
})

t.test('an answer that arrives at another name of this machine says so, and is not used up', async (t) => {
  const { platform, person } = await start(t)
  person.current = verified('u1', 'ada@example.org')
  const browser = new Client(platform.app)
  const back = await followRedirects((await browser.get(START)).headers.location as string)
  const elsewhere = await browser.get(back.pathname + back.search, { host: '127.0.0.1:8080' })
  t.match(elsewhere, { status: 421, text: /This server has no site named 127\.0\.0\.1:8080\./ })
  t.equal((await browser.get(back.pathname + back.search)).status, 303, 'and works where it belongs')
})

import { createHook } from 'node:async_hooks'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { Client, PASSWORD, type Platform, startPlatform } from '../../kit/platform.ts'

const only = ['oauth-idp', 'tokens']

t.test('a player signs up, is known, signs out and signs in again', async (t) => {
  const platform = await startPlatform(t, { only })
  const browser = new Client(platform.app)
  const account = { email: ' Ada@Example.ORG ', password: PASSWORD, name: '  Ada   Lovelace ' }

  const signedUp = await browser.post('/api/auth/sign-up', account)
  t.match(signedUp, {
    status: 201,
    body: {
      user: {
        id: /^ply_/,
        email: 'ada@example.org',
        name: 'Ada Lovelace',
        imageUrl: /^http:\/\/localhost:8080\/avatars\/ply_/,
        isAdmin: false,
      },
    },
  })
  const cookie = String(signedUp.headers['set-cookie'])
  t.match(cookie, /^gameyard_session_8080=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/)
  t.same((await browser.get('/api/auth/session')).body, { signedIn: true, user: signedUp.body.user })

  t.equal((await browser.post('/api/auth/sign-out')).status, 204)
  t.same((await browser.get('/api/auth/session')).body, { signedIn: false })
  t.equal(browser.cookiesOf().size, 0, 'the cookie is gone')

  const signedIn = await browser.post('/api/auth/sign-in', { email: 'ADA@example.org', password: PASSWORD })
  t.match(signedIn, { status: 200, body: { user: { id: signedUp.body.user.id } } })
  t.equal((await browser.get('/api/auth/session')).body.signedIn, true)
})

t.test('a field that cannot be taken is refused by name', async (t) => {
  const platform = await startPlatform(t, { only })
  const good = { email: 'ada@example.org', password: PASSWORD, name: 'Ada' }
  const cases: [string, object, string][] = [
    ['no email address', { email: 'ada' }, 'email'],
    ['an address with a space', { email: 'ada love@example.org' }, 'email'],
    ['two addresses', { email: 'ada@x.org,bob@x.org' }, 'email'],
    ['a short password', { password: 'ninechars' }, 'password'],
    ['a long password', { password: 'x1'.repeat(129) }, 'password'],
    ['a common password', { password: 'P@ssw0rd123' }, 'password'],
    ['keys in a row', { password: 'qwertyuiop' }, 'password'],
    ['digits in a row', { password: '1234567890' }, 'password'],
    ['one piece over and over', { password: 'abcabcabcabc' }, 'password'],
    ['a word twice', { password: 'monkeymonkey' }, 'password'],
    ['a word with a year', { password: 'sunshine2024!' }, 'password'],
    ['the email address as password', { password: 'ADA@example.org' }, 'password'],
    ['no name', { name: '   ' }, 'name'],
    ['a name that turns text around', { name: 'Ada\u202Enimda' }, 'name'],
    ['an unknown field', { isAdmin: true }, 'isAdmin'],
  ]
  for (const [what, change, path] of cases) {
    const answer = await platform.stranger.post('/api/auth/sign-up', { ...good, ...change })
    t.match(answer, { status: 400, body: { error: { code: 'invalid_request', details: [{ path }] } } }, what)
  }
  for (const password of ['tractor lamp ocean sixty', 'zxQ81-vbn-Kkk2', 'ünïcödé paßwörter', '🐙🐙🦀🦀🐚🐚🐳🐳🐬🐬']) {
    const email = `p${password.length}@example.org`
    t.equal((await platform.stranger.post('/api/auth/sign-up', { ...good, email, password })).status, 201, password)
  }
})

t.test('an address has one account, however it is spelt', async (t) => {
  const platform = await startPlatform(t, { only })
  await platform.signUp({ email: 'bob@exämple.org' })
  for (const email of ['bob@exämple.org', 'BOB@EXÄMPLE.ORG', ' bob@xn--exmple-cua.org']) {
    const answer = await platform.stranger.post('/api/auth/sign-up', { email, password: PASSWORD, name: 'Bob' })
    t.match(answer, { status: 409, body: { error: { code: 'email_taken' } } }, email)
  }
  const answers = await Promise.all(
    Array.from({ length: 8 }, () =>
      platform.stranger.post('/api/auth/sign-up', { email: 'eve@example.org', password: PASSWORD, name: 'Eve' }),
    ),
  )
  t.same(answers.map(({ status }) => status).sort(), [201, ...Array(7).fill(409)], 'also of eight at once')
})

t.test('a password typed on another keyboard is the same password', async (t) => {
  const platform = await startPlatform(t, { only })
  await platform.signUp({ email: 'zoe@example.org', password: 'le caf\u00e9 bleu du coin' })
  const answer = await platform.stranger.post('/api/auth/sign-in', {
    email: 'zoe@example.org',
    password: 'le cafe\u0301 bleu du coin',
  })
  t.equal(answer.status, 200)
})

t.test('nothing tells whether an account exists', async (t) => {
  const platform = await startPlatform(t, { only })
  await platform.signUp({ email: 'ada@example.org' })
  // It takes as long because the same is computed.
  const derived: string[] = []
  const hook = createHook({ init: (_id, type) => /argon2/i.test(type) && derived.push(type) }).enable()
  t.teardown(() => hook.disable())
  const attempt = async (email: string) => {
    derived.length = 0
    const answer = await platform.stranger.post('/api/auth/sign-in', { email, password: 'not the password' })
    const { 'x-request-id': _, ...headers } = answer.headers
    return { hashes: derived.length, answer: { ...answer, headers: { ...headers, date: '' } } }
  }
  const [known, unknown] = [await attempt('ada@example.org'), await attempt('nobody@example.org')]
  t.match(known, { hashes: 1, answer: { status: 401, body: { error: { code: 'invalid_credentials' } } } })
  t.same(known, unknown, 'the same answer, after one hash')
  t.same(await attempt('not an address'), unknown, 'also for what can be no account')
})

t.test('a password is compared at the same cost where there is no hash', async (t) => {
  const costs: unknown[] = []
  const { argon2 } = crypto
  t.teardown(() => {
    crypto.argon2 = argon2
    syncBuiltinESMExports()
  })
  crypto.argon2 = (algorithm, parameters, done) => {
    const { message: _, nonce, ...cost } = parameters
    costs.push({ algorithm, nonce: Buffer.from(nonce as Buffer).length, ...cost })
    argon2(algorithm, parameters, done)
  }
  syncBuiltinESMExports()
  // A copy of the module, which imports the counted function.
  const copy = '../../../plugins/oauth-idp/players/passwords.ts?counted'
  const { PasswordHasher }: typeof import('../../../plugins/oauth-idp/players/passwords.ts') = await import(copy)
  const hasher = new PasswordHasher({ memory: 24, passes: 3 })
  const hash = await hasher.hash(PASSWORD, 'ada')
  costs.length = 0
  t.equal(await hasher.verify(PASSWORD, hash, 'ada'), true)
  t.equal(await hasher.verify(PASSWORD, null, 'ada'), false)
  t.match(costs, [{ memory: 24, passes: 3 }, {}])
  t.same(costs[0], costs[1])
})

t.test('a hash of another cost is renewed when its player signs in', async (t) => {
  const folder = t.testdir()
  const withMemory = (memory: number) => ({
    auth: { passwordHashing: { memory, passes: 1 } },
    database: { driver: 'sqlite', file: join(folder, 'yard.db') },
  })
  const hashes = async (platform: Platform) =>
    (await platform.app.db.query<{ hash: string }>('select password_hash as hash from players')).map(({ hash }) => hash)
  const before = await startPlatform(t, { only, config: withMemory(16) })
  await before.signUp({ email: 'ada@example.org' })
  t.match(await hashes(before), [/^\$argon2id\$v=19\$m=16,t=1,p=1\$/])
  await before.app.close()

  const after = await startPlatform(t, { only, config: withMemory(32) })
  const attempt = (password: string) => after.stranger.post('/api/auth/sign-in', { email: 'ada@example.org', password })
  t.equal((await attempt('not the password')).status, 401)
  t.match(await hashes(after), [/m=16,/], 'not by who does not know it')
  t.equal((await attempt(PASSWORD)).status, 200)
  const renewed = await hashes(after)
  t.match(renewed, [/^\$argon2id\$v=19\$m=32,t=1,p=1\$/])
  t.equal((await attempt(PASSWORD)).status, 200)
  t.same(await hashes(after), renewed, 'once')
})

t.test('the default cost is what OWASP recommends', async (t) => {
  const platform = await startPlatform(t, { only, config: { auth: { passwordHashing: {} } } })
  await platform.signUp()
  const [row] = await platform.app.db.query<{ hash: string }>('select password_hash as hash from players')
  t.match(row?.hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
})

t.test('the eleventh attempt in a minute is refused, for that account and address alone', async (t) => {
  const platform = await startPlatform(t, { only, config: { limits: { rateLimits: true } } })
  await platform.signUp({ email: 'ada@example.org' })
  const attempt = (email: string) => platform.stranger.post('/api/auth/sign-in', { email, password: PASSWORD })
  for (let round = 0; round < 10; round++) t.equal((await attempt('Ada@Example.org ')).status, 200)
  const refused = await attempt('ada@example.org')
  t.match(refused, { status: 429, body: { error: { code: 'rate_limited' } } })
  t.ok(Number(refused.headers['retry-after']) > 0)
  const page = await platform.stranger.submit('/sign-in', { email: 'ada@example.org', password: PASSWORD })
  t.match(page, { status: 429, text: /Too many requests/, headers: { 'retry-after': /^\d+$/ } })
  t.equal((await attempt('bob@example.org')).status, 401)
})

t.test('a sign-in form of another site does nothing', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const foreign: [string, Record<string, string>][] = [
    ['another site', { origin: 'https://evil.example' }],
    ['a sibling game', { origin: 'http://pong.localhost:8080' }],
    ['another port', { origin: 'http://localhost:9090' }],
    ['https for http', { origin: 'https://localhost:8080' }],
    ['a sandboxed page', { origin: 'null' }],
  ]
  const credentials = { email: player.account.email, password: PASSWORD }
  for (const [what, headers] of foreign) {
    for (const path of ['/api/auth/sign-in', '/api/auth/sign-up', '/api/auth/sign-out']) {
      const answer = await player.post(path, credentials, { headers })
      t.match(answer, { status: 403, body: { error: { code: 'forbidden' } } }, `${path} from ${what}`)
      t.equal(answer.headers['set-cookie'], undefined)
    }
    for (const path of ['/sign-in', '/sign-up', '/sign-out', '/settings/name']) {
      t.equal(
        (await player.submit(path, { ...credentials, name: 'x' }, { headers })).status,
        403,
        `${path} from ${what}`,
      )
    }
  }
  const bare = await player.post('/api/auth/sign-out', undefined, {
    headers: { origin: undefined, 'sec-fetch-site': 'same-site' },
  })
  t.equal(bare.status, 403, 'same-site is not same-origin')
  t.equal((await player.get('/api/auth/session')).body.signedIn, true)
})

t.test('the session changes its value at sign-in, and an old one is dead', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const before = player.cookiesOf().get('gameyard_session_8080') as string
  const credentials = { email: player.account.email, password: PASSWORD }
  await player.post('/api/auth/sign-in', credentials)
  const after = player.cookiesOf().get('gameyard_session_8080') as string
  t.not(after, before)

  const thief = new Client(platform.app)
  thief.cookiesOf().set('gameyard_session_8080', before)
  t.equal((await thief.get('/api/auth/session')).body.signedIn, false, 'the value before sign-in')
  thief.cookiesOf().set('gameyard_session_8080', after)
  t.equal((await thief.get('/api/auth/session')).body.signedIn, true)
  await player.post('/api/auth/sign-out')
  t.equal((await thief.get('/api/auth/session')).body.signedIn, false, 'the value before sign-out')

  const victim = new Client(platform.app)
  victim.cookiesOf().set('gameyard_session_8080', 'chosen-by-an-attacker')
  await victim.post('/api/auth/sign-in', credentials)
  t.not(victim.cookiesOf().get('gameyard_session_8080'), 'chosen-by-an-attacker')
})

t.test('two session cookies in a request mean signed out', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const value = player.cookiesOf().get('gameyard_session_8080')
  for (const cookie of [
    `gameyard_session_8080=x; gameyard_session_8080=${value}`,
    `gameyard_session_8080=${value}; gameyard_session_8080=x`,
    `gameyard_session_8080=${value};gameyard_session_8080=${value}`,
  ]) {
    const answer = await platform.stranger.get('/api/auth/session', { headers: { cookie } })
    t.same(answer.body, { signedIn: false }, cookie.replaceAll(String(value), '…'))
  }
  const alone = await platform.stranger.get('/api/auth/session', {
    headers: { cookie: `a=1; gameyard_session_8080=${value}; xsession=2` },
  })
  t.equal(alone.body.signedIn, true)
})

t.test('a session lives thirty days from the last visit', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const day = 86_400_000
  t.equal((await player.get('/api/auth/session')).headers['set-cookie'], undefined, 'not renewed at once')
  platform.clock.advance(29 * day)
  const visit = await player.get('/api/auth/session')
  t.match(visit.headers['set-cookie'], /Max-Age=2592000/, 'renewed by a visit')
  platform.clock.advance(29 * day)
  t.equal((await player.get('/api/auth/session')).body.signedIn, true)
  platform.clock.advance(30 * day)
  t.equal((await player.get('/api/auth/session')).body.signedIn, false)
  t.equal((await platform.app.identity.sessions.list(player.id)).length, 0)
})

t.test('a session of a player who is disabled is nobody, however that came to be', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  // As by a node that missed the event, or by hand: the session itself is still there.
  await platform.app.db.execute('update players set disabled = ? where id = ?', [true, player.id])
  platform.clock.advance(5000)
  t.match(await player.get('/api/auth/session'), { status: 200, body: { signedIn: false } })
  t.equal((await player.get('/api/tokens')).status, 401)
})

t.test('on https the cookie is __Host- and Secure', async (t) => {
  const platform = await startPlatform(t, {
    only,
    config: { portal: { url: 'https://play.example.org' }, games: { domain: 'example-games.net' } },
  })
  const answer = await platform.stranger.post('/api/auth/sign-up', {
    email: 'ada@example.org',
    password: PASSWORD,
    name: 'Ada',
  })
  t.match(answer.headers['set-cookie'], /^__Host-session=[\w-]{43}; .*Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  t.notMatch(answer.headers['set-cookie'], /Domain/)
})

t.test('signing up can be closed', async (t) => {
  const platform = await startPlatform(t, { only, config: { auth: { signUp: 'closed' } } })
  const account = { email: 'ada@example.org', password: PASSWORD, name: 'Ada' }
  t.match(await platform.stranger.post('/api/auth/sign-up', account), {
    status: 403,
    body: { error: { code: 'sign_up_closed' } },
  })
  t.equal((await platform.stranger.submit('/sign-up', account)).status, 403)
  const page = await platform.stranger.get('/sign-up')
  t.equal(page.status, 403)
  t.notMatch(page.text, /type="password"/)
  t.match(page.text, /This server takes no new accounts/)
  t.notMatch(page.text, /invitation|Ask for one/i, 'nor asks for what is refused')
  const made = await platform.app.identity.players.createByHost(account, 'player')
  t.match(made, { role: 'player', isAdmin: false })
  const { name: _, ...credentials } = account
  t.equal((await platform.stranger.post('/api/auth/sign-in', credentials)).status, 200)
})

t.test('the pages work as plain forms', async (t) => {
  const platform = await startPlatform(t, { only })
  const browser = new Client(platform.app)
  const page = await browser.get('/sign-up?returnTo=/settings')
  t.match(page, { status: 200, text: /<form[^>]*action="\/sign-up"[^>]*method="post"/ })
  t.equal(page.text.match(/type="password"/g)?.length, 1, 'one password field')

  const wrong = await browser.submit('/sign-up', { email: 'ada@example.org', password: 'short', name: '<b>Ada' })
  t.match(wrong, { status: 400, text: /Use at least 10 characters/ })
  t.match(wrong.text, /value="&lt;b>Ada"/, 'what was entered is kept')
  t.notMatch(wrong.text, /value="short"/, 'but not the password')

  const done = await browser.submit('/sign-up', {
    email: 'ada@example.org',
    password: PASSWORD,
    name: 'Ada',
    returnTo: '/settings?x=1',
  })
  t.match(done, { status: 303, headers: { location: /^\/settings\?x=1$/ } })
  t.equal((await browser.get('/sign-in?returnTo=/settings')).status, 303, 'whoever is signed in goes on at once')
  t.equal((await browser.get('/sign-in?prompt=login')).status, 200, 'but is asked when asked again')

  t.match(await browser.submit('/sign-out', {}), { status: 303, headers: { location: /^\/$/ } })
  t.match(await browser.get('/settings'), { status: 303, headers: { location: /^\/sign-in\?returnTo=%2Fsettings$/ } })
  const refused = await browser.submit('/sign-in', { email: 'ada@example.org', password: 'wrong password' })
  t.match(refused, { status: 401, text: /Email address or password is wrong/ })
})

t.test('after signing in one goes on where one wanted to', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const { email } = player.account
  const withNul = await platform.stranger.submit('/sign-in', { email, password: PASSWORD, returnTo: '/a/\u0000' })
  t.equal(withNul.status, 400, 'the kernel takes no NUL in a form')
  const kept = await platform.stranger.submit('/sign-in', {
    email: player.account.email,
    password: PASSWORD,
    returnTo: '/oauth/authorize?a=%2F%2Fevil&b=c#d',
  })
  t.equal(kept.headers.location, '/oauth/authorize?a=%2F%2Fevil&b=c#d')
})

t.test('of IPv6 a whole /64 is one address: attempts from all over it are counted together', async (t) => {
  const { app, portal } = await startPlatform(t, { only, config: { limits: { rateLimits: true } } })
  const attempt = async (remoteAddress: string) => {
    const payload = { email: 'ada@example.org', password: 'not the password' }
    const { host, origin } = new URL(portal)
    const headers = { host, origin }
    return (await app.inject({ method: 'POST', url: '/api/auth/sign-in', remoteAddress, headers, payload })).statusCode
  }
  for (let one = 1; one <= 10; one++) t.equal(await attempt(`2001:db8:0:1::${one}`), 401)
  t.equal(await attempt('2001:db8:0:1:ffff::1'), 429)
  t.equal(await attempt('2001:db8:0:2::1'), 401, 'the next /64 is somebody else')
})

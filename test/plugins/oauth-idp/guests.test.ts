import { createHash } from 'node:crypto'
import t from 'tap'
import { Passkey } from '../../../plugins/oauth-idp/passkeys/entities.ts'
import { UpstreamAccount } from '../../../plugins/oauth-idp/upstream/entities.ts'
import { exchange, obtainCode, registerApp } from '../../kit/oauth.ts'
import { Client, PASSWORD, type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { HOSTILE_PATHS } from '../../kit/return-paths.ts'

const only = ['oauth-idp', 'tokens']
const config = { auth: { guests: true } }
const DAY = 86_400_000

t.test('a guest has a name and nothing else, and is kept by the browser', async (t) => {
  const platform = await startPlatform(t, { only, config })
  const browser = new Client(platform.app)
  const { status, body, headers } = await browser.post('/api/auth/guest', { name: '  Ada  ' })
  t.equal(status, 201)
  t.match(body.user, { id: /^ply_/, name: 'Ada', email: null, isGuest: true, isAdmin: false, emailVerified: false })
  t.match(String(headers['set-cookie']), /HttpOnly/)
  t.match((await browser.get('/api/auth/session')).body, { signedIn: true, user: { id: body.user.id } })
  t.match(await browser.post('/api/auth/guest', { name: ' ' }), { status: 400 })
  t.match((await browser.get('/settings')).text, /Create an account/)
  const asked = await browser.submit('/sign-out', {})
  t.match(asked, { status: 303, headers: { location: /^\/sign-out$/ } }, 'the menu of every page asks a guest first')
  const question = await browser.get('/sign-out')
  t.match(question.text, /come back as the same player[\s\S]*name="confirmed" value="yes"/)
  t.equal((await browser.get('/api/auth/session')).body.signedIn, true)
  t.match(await browser.submit('/sign-out', { confirmed: 'yes' }), { status: 303, headers: { location: /^\/$/ } })
  t.equal((await browser.get('/api/auth/session')).body.signedIn, false)
})

t.test('the form on the sign-in page lets a guest in and goes on to the game', async (t) => {
  const platform = await startPlatform(t, { only, config })
  const browser = new Client(platform.app)
  t.match((await browser.get('/sign-in')).text, /Play as a guest/)
  const refused = await browser.submit('/guest', { name: '', returnTo: '/settings' })
  t.match(refused, { status: 400, text: /Enter a name/ })
  const answer = await browser.submit('/guest', { name: 'Ada', returnTo: '/settings' })
  t.match(answer, { status: 303, headers: { location: /^\/settings$/ } })
  const away = await new Client(platform.app).submit('/guest', { name: 'Eve', returnTo: 'https://evil.example' })
  t.equal(away.headers.location, '/')
  const foreign = await browser.post('/api/auth/guest', { name: 'X' }, { headers: { origin: 'https://evil.example' } })
  t.equal(foreign.status, 403)
})

t.test('no door of the portal leads to another site', async (t) => {
  const platform = await startPlatform(t, { only, config })
  const player = await platform.signUp()
  for (const returnTo of HOSTILE_PATHS) {
    const query = new URLSearchParams({ returnTo })
    for (const page of ['/sign-in', '/sign-up']) {
      const { status, headers } = await player.get(`${page}?${query}`)
      // NUL is refused in every text.
      const expected = returnTo.includes('\0') ? [400, undefined] : [303, '/']
      t.same([status, headers.location], expected, `${page} ${JSON.stringify(returnTo)}`)
      // Forms, links and the script of passkeys take the way back from the page.
      t.notMatch((await platform.stranger.get(`${page}?${query}`)).text, 'evil.example')
    }
  }
  const account = { email: player.account.email, password: PASSWORD }
  for (const returnTo of ['/.//evil.example', '/%2e//evil.example']) {
    const browser = () => new Client(platform.app)
    t.equal((await browser().submit('/guest', { name: 'Eve', returnTo })).headers.location, '/')
    t.equal((await browser().submit('/sign-in', { ...account, returnTo })).headers.location, '/')
    const eve = { email: `eve${returnTo.length}@example.org`, password: PASSWORD, name: 'Eve', returnTo }
    t.equal((await browser().submit('/sign-up', eve)).headers.location, '/')
  }
})

t.test('guests are let in only where the configuration says so', async (t) => {
  const platform = await startPlatform(t, { only })
  t.match(await platform.stranger.post('/api/auth/guest', { name: 'Ada' }), {
    status: 403,
    body: { error: { code: 'guests_off' } },
  })
  t.notMatch((await platform.stranger.get('/sign-in')).text, /guest/)
})

t.test('a guest becomes an account and stays the same player', async (t) => {
  const platform = await startPlatform(t, { only, config })
  const taken = await platform.signUp()
  const guest = new Client(platform.app)
  const { id } = (await guest.post('/api/auth/guest', { name: 'Ada' })).body.user
  const before = new Map(guest.cookiesOf())
  // What others may have made who shared the guest.
  const program = await platform.program(Object.assign(guest, { id }) as unknown as PlayerClient)
  t.equal((await program.get('/api/cli/whoami')).status, 200)
  const app = await registerApp(platform, taken)
  const { access_token } = (await exchange(platform.stranger, app, await obtainCode(guest, app))).body
  const device = new Client(platform.app, access_token)
  t.equal((await device.get('/api/oauth/userinfo')).status, 200)
  await addPasskey(platform, id)
  await addAccountElsewhere(platform, id)

  const fields = { name: 'Ada L.', email: 'ada@example.org', password: PASSWORD }
  t.match(await guest.submit('/settings/upgrade', { ...fields, password: 'short' }), {
    status: 400,
    text: /at least 10/,
  })
  const clash = await guest.submit('/settings/upgrade', { ...fields, email: taken.account.email })
  t.match(clash, { status: 409, text: /account with this email/ })
  t.match(await guest.submit('/settings/upgrade', fields), { status: 303 })
  t.match((await guest.get('/api/auth/session')).body.user, {
    id,
    name: 'Ada L.',
    email: 'ada@example.org',
    isGuest: false,
  })

  const old = new Client(platform.app)
  for (const [name, value] of before) old.cookiesOf().set(name, value)
  t.equal((await old.get('/settings')).status, 303, "the guest's own session has ended")
  t.equal((await program.get('/api/cli/whoami')).status, 401, 'and tokens')
  t.equal((await device.get('/api/oauth/userinfo')).status, 401)
  for (const table of ['passkeys', 'upstream_accounts', 'api_tokens']) {
    t.same(await platform.app.db.query(`select 1 from ${table} where player_id = ?`, [id]), [], `and ${table}`)
  }
  const elsewhere = new Client(platform.app)
  const signedIn = await elsewhere.post('/api/auth/sign-in', { email: 'ada@example.org', password: PASSWORD })
  t.equal(signedIn.body.user.id, id)
  t.equal((await guest.submit('/settings/upgrade', fields)).status, 404, 'once')
})

t.test('of many upgrades of one guest at once, one wins', async (t) => {
  const platform = await startPlatform(t, { only, config })
  const guest = new Client(platform.app)
  await guest.post('/api/auth/guest', { name: 'Ada' })
  const cookies = new Map(guest.cookiesOf())
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const browser = new Client(platform.app)
      for (const [name, value] of cookies) browser.cookiesOf().set(name, value)
      return browser.submit('/settings/upgrade', { name: 'Ada', email: `ada${index}@example.org`, password: PASSWORD })
    }),
  )
  t.equal(answers.filter(({ status }) => status === 303).length, 1)
  t.equal(await platform.app.db.em().count('PlayerRow' as never), 1)
})

t.test('a guest whom no browser remembers is forgotten', async (t) => {
  const platform = await startPlatform(t, { only, config })
  const guest = new Client(platform.app)
  const { id } = (await guest.post('/api/auth/guest', { name: 'Ada' })).body.user
  const { identity } = platform.app
  const { deletion, signUp } = identity
  /** Guests whose browsers are gone, and what is left to them. */
  const left = async (name: string, also: (guest: PlayerClient) => Promise<unknown>): Promise<string> => {
    const browser = new Client(platform.app)
    const { user } = (await browser.post('/api/auth/guest', { name })).body
    await also(Object.assign(browser, { id: user.id }) as PlayerClient)
    await browser.post('/api/auth/sign-out')
    return user.id
  }
  const kept = [
    await left('Passkey', ({ id }) => addPasskey(platform, id)),
    await left('Elsewhere', ({ id }) => addAccountElsewhere(platform, id)),
    await left('Token', (guest) =>
      guest.post('/api/tokens', { label: 'x', scopes: ['games:read'], expiresInDays: null }),
    ),
  ]
  const ran = (browser: PlayerClient) =>
    browser.post('/api/tokens', { label: 'x', scopes: ['games:read'], expiresInDays: 30 })
  const outlived = await left('Token that ran out', ran)
  platform.clock.advance(29 * DAY)
  await identity.sweep()
  t.ok(await identity.players.find(id))
  platform.clock.advance(2 * DAY)
  for (const one of kept) {
    await deletion.remove(one, { condition: (em) => signUp.isLost(em, one), decisions: null })
    t.ok(await identity.players.find(one), 'not even when they are about to be')
  }
  await identity.sweep()
  t.equal(await identity.players.find(id), null)
  t.equal(await identity.players.standing(id), null, 'also for what was signed for them')
  t.equal(await identity.players.find(outlived), null)
  for (const one of kept) t.ok(await identity.players.find(one), 'who can come back otherwise is kept')
})

t.test('an invitation makes one account', async (t) => {
  const platform = await startPlatform(t, { only, config: { auth: { signUp: 'invite', guests: true } } })
  const admin = await platform.admin()
  const account = (name: string) => ({ name, email: `${name}@example.org`, password: PASSWORD })
  t.match(await platform.stranger.post('/api/auth/sign-up', account('eve')), { status: 403 })
  t.match((await platform.stranger.get('/sign-up')).text, /By invitation/)
  const path = await invite(admin, 'Bob')
  t.match((await admin.get('/admin/invitations')).text, /Bob/)
  t.match((await platform.stranger.get(path)).text, /You are invited/)
  t.equal((await platform.stranger.submit(path, { ...account('bob'), password: 'short' })).status, 400)
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => new Client(platform.app).submit(path, account(`bob${index}`))),
  )
  t.same(answers.map(({ status }) => status).sort(), [303, ...Array(9).fill(410)])
  t.equal((await platform.stranger.get(path)).status, 410)
  t.notMatch((await admin.get('/admin/invitations')).text, /Bob/)

  const guest = new Client(platform.app)
  const { id } = (await guest.post('/api/auth/guest', { name: 'Ada' })).body.user
  t.match((await guest.get('/settings')).text, /by invitation/)
  t.equal((await guest.submit(await invite(admin, 'Ada'), account('ada'))).status, 303)
  t.match((await guest.get('/api/auth/session')).body.user, { id, isGuest: false }, 'a guest stays who they were')

  const withdrawn = await invite(admin, 'Mallory')
  const step = /action="(\/admin\/invitations\/ott_[^"]+\/withdraw)"/.exec((await admin.get('/admin/invitations')).text)
  t.equal((await admin.submit(step?.[1] as string, {})).status, 303)
  t.equal((await platform.stranger.get(withdrawn)).status, 410)
  const late = await invite(admin, 'Late')
  platform.clock.advance(14 * DAY)
  t.equal((await platform.stranger.submit(late, account('late'))).status, 410)
})

t.test('the names of a class make a link each', async (t) => {
  const platform = await startPlatform(t, { only, config: { auth: { signUp: 'invite' } } })
  const admin = await platform.admin()
  const { status, text } = await admin.submit('/admin/invitations', { note: 'Ada\r\n\r\n Bob \r\n<Eve>\r\n' })
  t.equal(status, 201)
  t.match(text, /3 links, which are shown only this once/)
  const links = [...text.matchAll(/^(?:.*>)?(\S+)\thttp:\/\/localhost:8080(\/invite\/[B-Z]{4}-[B-Z]{4}-[B-Z]{4})\n?/gm)]
  t.same(
    links.map(([, note]) => note),
    ['Ada', 'Bob', '&lt;Eve>'],
  )
  const slips = [...text.matchAll(/<p class="slip-name">([^<]+)<\/p>.*?<p class="slip-code">([^<]+)<\/p>/gs)]
  t.same(
    slips.map(([, name, code]) => [name, `/invite/${code}`]),
    links.map(([, note, path]) => [note, path]),
    'and a slip to print',
  )
  t.match(text, /type the code at <span[^>]*>localhost:8080\/sign-up</)
  t.equal(text.match(/<svg class="qr"/g)?.length, 3)
  for (const [index, [, , path]] of links.entries()) {
    const account = { name: `Pupil ${index}`, email: `pupil${index}@class.example`, password: PASSWORD }
    t.equal((await new Client(platform.app).submit(path as string, account)).status, 303)
  }
  t.equal((await platform.app.db.query('select id from audit')).length, 3)
  t.match(await admin.submit('/admin/invitations', { note: 'Ada\n'.repeat(101) }), {
    status: 400,
    text: /at most 100 links/,
  })
  t.same(await platform.app.identity.invitations.list(), [])
})

t.test('a code is not found from the database, and one of an earlier version still works', async (t) => {
  const { app } = await startPlatform(t, { only, config: { auth: { signUp: 'invite' } } })
  const { invitations, signUp } = app.identity
  const [made] = await invitations.make(['Ada'])
  const code = made?.code as string
  t.match(code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}(-[BCDFGHJKLMNPQRSTVWXZ]{4}){2}$/)
  const [row] = await app.db.query<{ hash: string }>('select token_hash as hash from one_time_tokens')
  for (const guess of [code, code.replaceAll('-', '')])
    t.not(row?.hash, createHash('sha256').update(guess).digest('base64url'))
  await signUp.mustBeInvited(code)
  const former = 'V'.repeat(43)
  const hash = createHash('sha256').update(former).digest('base64url')
  await app.db.execute('update one_time_tokens set token_hash = ?', [hash])
  await signUp.mustBeInvited(former)
  await t.rejects(signUp.mustBeInvited(code), { code: 'gone' })
})

async function invite(admin: PlayerClient, note: string): Promise<string> {
  const { status, text } = await admin.submit('/admin/invitations', { note })
  const path = /http:\/\/localhost:8080(\/invite\/[B-Z]{4}-[B-Z]{4}-[B-Z]{4})\b/.exec(text)?.[1]
  if (status !== 201 || !path) throw new Error(`No invitation: ${status}`)
  return path
}

t.test('guests without end are slowed down, on the page as by the API', async (t) => {
  const limits = { rateLimits: true, signUpsPerMinute: 3 }
  const platform = await startPlatform(t, { only, config: { ...config, limits } })
  const come = () => new Client(platform.app).post('/api/auth/guest', { name: 'Ada' })
  for (let guests = 0; guests < 3; guests++) t.equal((await come()).status, 201)
  t.match(await come(), {
    status: 429,
    body: { error: { code: 'rate_limited' } },
    headers: { 'retry-after': /^\d+$/ },
  })
  const page = await platform.stranger.submit('/guest', { name: 'Ada', returnTo: '/' })
  t.match(page, { status: 429, text: /Too many requests/, headers: { 'retry-after': /^\d+$/ } })
  platform.clock.advance(60_000)
  t.equal((await come()).status, 201, 'a minute later there is room again')
})

async function addPasskey({ app, clock }: Platform, playerId: string): Promise<void> {
  const row = {
    publicKey: 'AAAA',
    counter: 0,
    transports: [],
    label: 'Phone',
    createdAt: clock.now(),
    lastUsedAt: null,
  }
  await app.db.em().insert(Passkey, { id: `key of ${playerId}`, playerId, ...row })
}

async function addAccountElsewhere({ app, clock }: Platform, playerId: string): Promise<void> {
  const row = { provider: 'club', label: 'Ada', createdAt: clock.now(), lastUsedAt: clock.now() }
  await app.db.em().insert(UpstreamAccount, { subject: `subject of ${playerId}`, playerId, ...row })
}

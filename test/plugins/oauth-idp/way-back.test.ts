// The ways of a sign-in that leave the sign-in page, and still end at the game where it began.
import t, { type Test } from 'tap'
import { authorizeUrl, decide, redirectParameters, registerApp } from '../../kit/oauth.ts'
import { Client, PASSWORD, startPlatform } from '../../kit/platform.ts'
import { HOSTILE_PATHS } from '../../kit/return-paths.ts'
import { type Delivered, linkIn, startSmtp } from '../../kit/smtp.ts'
import { until } from '../../kit/until.ts'

async function start(t: Test, auth: Record<string, unknown> = {}) {
  const { inbox, url } = await startSmtp(t)
  const mail = { driver: 'smtp', url, from: 'Yard <yard@example.org>' }
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'], config: { mail, auth } })
  const linkTo = async (address: string): Promise<string> =>
    linkIn(await until((): Delivered | undefined => inbox.find(({ to }) => to.includes(address))))
  return { platform, linkTo }
}

/** Follows a game's request to the sign-in page. @returns the way back that the page carries */
async function arrive(browser: Client, asked: string): Promise<string> {
  const { location = '' } = (await browser.get(asked)).headers
  t.match(location, /^\/sign-in\?/)
  return new URLSearchParams(location.slice(location.indexOf('?'))).get('returnTo') as string
}

const inQuery = (path: string, returnTo: string) => `${path}?${new URLSearchParams({ returnTo })}`

t.test('a forgotten password', async (t) => {
  const { platform, linkTo } = await start(t)
  const player = await platform.signUp({ email: 'ada@example.org' })
  const game = await registerApp(platform, player)
  const browser = new Client(platform.app)
  const returnTo = await arrive(browser, authorizeUrl(game))
  const escaped = inQuery('/reset-password', returnTo).replaceAll('&', '&amp;')
  t.ok((await browser.get(inQuery('/sign-in', returnTo))).text.includes(`href="${escaped}"`))
  t.match((await browser.get(inQuery('/reset-password', returnTo))).text, /name="returnTo" value="\/oauth\/authorize\?/)
  await browser.submit('/reset-password', { email: 'ada@example.org', returnTo })
  const link = await linkTo('ada@example.org')
  t.match((await browser.get(link)).text, /value="ada@example\.org" autocomplete="username"/, 'for password managers')
  const done = await browser.submit(link, { password: 'another yard battery fence' })
  t.equal(done.headers.location, `/sign-in?${new URLSearchParams({ done: 'reset', returnTo })}`)
})

t.test('a confirmed address, in the same browser and on another device', async (t) => {
  const { platform, linkTo } = await start(t, { verifyEmail: true })
  const owner = await platform.admin()
  const game = await registerApp(platform, owner)
  const signUp = async (email: string) => {
    const browser = new Client(platform.app)
    const returnTo = await arrive(browser, authorizeUrl(game))
    const fields = { email, name: 'Ada', password: PASSWORD }
    t.equal((await browser.submit('/sign-up', { ...fields, returnTo })).status, 202)
    return { browser, returnTo, link: await linkTo(email) }
  }
  const here = await signUp('here@example.org')
  const confirmed = await here.browser.submit(here.link, { password: PASSWORD })
  t.match(confirmed, { status: 303, headers: { location: here.returnTo } })

  const there = await signUp('there@example.org')
  const phone = new Client(platform.app)
  const { headers } = await phone.submit(there.link, { password: PASSWORD })
  t.match(headers.location, /^\/oauth\/continue\?/)
  const page = await phone.get(headers.location as string)
  t.match(page, { status: 200, text: /href="https:\/\/game\.example\/"[^>]*>Open Rooftop Relay/ })
  t.notMatch(page.text, 'a state', 'the state of the first browser stays out of it')
  t.equal((await phone.get('/oauth/continue?client_id=nobody')).status, 400)
})

t.test('an invitation', async (t) => {
  const { platform } = await start(t, { signUp: 'invite' })
  const admin = await platform.admin()
  const game = await registerApp(platform, admin)
  const invite = async () => {
    const { text } = await admin.submit('/admin/invitations', { note: 'Ada' })
    return /\/invite\/[\w-]+/.exec(text)?.[0] as string
  }
  const browser = new Client(platform.app)
  const returnTo = await arrive(browser, authorizeUrl(game))
  const path = await invite()
  t.match((await browser.get(inQuery(path, returnTo))).text, /name="returnTo" value="\/oauth\/authorize\?/)
  const fields = { email: 'ada@example.org', name: 'Ada', password: PASSWORD, returnTo }
  t.match(await browser.submit(path, fields), { status: 303, headers: { location: returnTo } })
  t.match(
    await browser.get(inQuery(await invite(), returnTo)),
    { headers: { location: returnTo } },
    'signed in already',
  )
})

t.test('an invitation whose link is pasted where the sign-in led', async (t) => {
  const { platform } = await start(t, { signUp: 'invite' })
  const admin = await platform.admin()
  const game = await registerApp(platform, admin)
  const { text } = await admin.submit('/admin/invitations', { note: 'Ada' })
  const [link = ''] = /https?:\/\/[^\s<"]+\/invite\/[\w-]+/.exec(text) ?? []
  const browser = new Client(platform.app)
  const returnTo = await arrive(browser, authorizeUrl(game))
  const page = await browser.get(inQuery('/sign-up', returnTo))
  t.match(page, { status: 403, text: /Link or code of your invitation/ })
  t.match(page.text, /name="returnTo" value="\/oauth\/authorize\?/)
  const pasted = await browser.submit('/sign-up', { invitation: ` ${link}\n`, returnTo })
  t.match(pasted, { status: 303, headers: { location: inQuery(new URL(link).pathname, returnTo) } })
  const code = new URL(link).pathname.split('/').at(-1) as string
  for (const typed of [code, code.toLowerCase(), code.replaceAll('-', ' '), ` ${code.replaceAll('-', '')} `]) {
    const { status, headers } = await browser.submit('/sign-up', { invitation: typed, returnTo })
    t.same([status, headers.location], [303, inQuery(`/invite/${code}`, returnTo)], typed)
  }
  for (const invitation of ['', 'BCDF-GHJK', 'https://evil.example/invite/x', `${link}x`, '/invite//evil.example']) {
    const refused = await browser.submit('/sign-up', { invitation, returnTo })
    t.match(refused, { status: 410, text: /Link or code of your invitation/ }, JSON.stringify(invitation))
    t.match(refused.text, /aria-invalid|field-error/, 'with what is wrong beside the field')
    const [field = ''] = /<input[^>]*name="invitation"[^>]*>/.exec(refused.text) ?? []
    t.equal(/value="([^"]*)"/.exec(field)?.[1] ?? '', invitation, 'and what was typed')
  }
  const closed = await start(t, { signUp: 'closed' })
  t.notMatch((await closed.platform.stranger.get('/sign-up')).text, /Link or code of your invitation/)
})

t.test('a sign-up by the API', async (t) => {
  const { platform, linkTo } = await start(t, { verifyEmail: true })
  const game = await registerApp(platform, await platform.admin())
  for (const [email, wanted, location] of [
    ['ada@example.org', undefined, '/'],
    ['bob@example.org', authorizeUrl(game), null],
    ['eve@example.org', HOSTILE_PATHS[0], '/'],
  ] as const) {
    const browser = new Client(platform.app)
    const returnTo = location === null ? await arrive(browser, wanted as string) : wanted
    const fields = { email, name: 'Ada', password: PASSWORD, ...(returnTo === undefined ? {} : { returnTo }) }
    t.equal((await browser.post('/api/auth/sign-up', fields)).status, 202)
    const { headers } = await browser.submit(await linkTo(email), { password: PASSWORD })
    t.equal(headers.location, location ?? returnTo)
  }
})

t.test('a guest who becomes an account', async (t) => {
  const { platform, linkTo } = await start(t, { verifyEmail: true, guests: true })
  const guest = new Client(platform.app)
  await guest.submit('/guest', { name: 'Gus' })
  const { id } = (await guest.get('/api/auth/session')).body.user
  const fields = { email: 'gus@example.org', name: 'Gus', password: PASSWORD }
  t.equal((await guest.submit('/settings/upgrade', fields)).status, 202)
  const confirmed = await guest.submit(await linkTo('gus@example.org'), { password: PASSWORD })
  t.match(confirmed, { status: 303, headers: { location: '/settings?done=upgraded' } })
  t.match((await guest.get('/api/auth/session')).body.user, { id, isGuest: false })
})

t.test('long authorization requests are stored thirty times a minute for an address', async (t) => {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'], config: { limits: { rateLimits: true } } })
  const game = await registerApp(platform, await platform.signUp())
  const ask = (state: string) => new Client(platform.app).get(authorizeUrl(game, { state }))
  const long = 'long state/'.repeat(300)
  const answers = await Promise.all(Array.from({ length: 30 }, () => ask(long)))
  t.ok(answers.every(({ status }) => status === 303))
  t.match(await ask(long), { status: 429, headers: { 'retry-after': /^\d+$/ } })
  t.equal((await ask('short')).status, 303, 'others are not')
  platform.clock.advance(60_000)
  t.equal((await ask(long)).status, 303, 'a minute later')
})

t.test('a way back on another site is none', async (t) => {
  const { platform, linkTo } = await start(t, { verifyEmail: true })
  const [hostile] = HOSTILE_PATHS
  const browser = new Client(platform.app)
  const fields = { email: 'ada@example.org', name: 'Ada', password: PASSWORD, returnTo: hostile as string }
  await browser.submit('/sign-up', fields)
  const { headers } = await browser.submit(await linkTo('ada@example.org'), { password: PASSWORD })
  t.equal(headers.location, '/')
})

t.test('an authorization request of 12,000 characters signs in, by GET and by POST', async (t) => {
  const { platform } = await start(t)
  const player = await platform.signUp({ email: 'ada@example.org' })
  const game = await registerApp(platform, player)
  const state = 'long state/'.repeat(1000)
  const asked = authorizeUrl(game, { state })
  t.ok(asked.length > 12_000)
  const browser = new Client(platform.app)
  const returnTo = await arrive(browser, asked)
  t.ok(returnTo.length < 200)
  const signedIn = await browser.submit('/sign-in', { email: 'ada@example.org', password: PASSWORD, returnTo })
  t.match(signedIn, { status: 303, headers: { location: returnTo } })
  t.match(await browser.get(returnTo), { status: 200, text: /Rooftop Relay wants to/ })
  const allowed = await decide(browser, asked, 'allow')
  t.match(redirectParameters(allowed), { state, code: String })

  const form = Object.fromEntries(new URLSearchParams(asked.slice(asked.indexOf('?'))))
  const posted = await browser.submit('/oauth/authorize', form)
  t.match(posted, { status: 303, headers: { location: /^\/oauth\/authorize\?stored_request=[\w-]{43}$/ } })
  t.match(redirectParameters(await browser.get(posted.headers.location as string)), { state })
  platform.clock.advance(7_200_001)
  t.equal((await browser.get(posted.headers.location as string)).status, 400, 'two hours later')
})

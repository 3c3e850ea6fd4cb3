import t, { type Test } from 'tap'
import { captureLog } from '../../kit/driver-context.ts'
import { amount } from '../../kit/extent.ts'
import { Client, PASSWORD, type PlatformOptions, startPlatform } from '../../kit/platform.ts'
import { type Delivered, linkIn, startSmtp } from '../../kit/smtp.ts'
import { until } from '../../kit/until.ts'

const only = ['oauth-idp', 'tokens']
const NEXT = 'another yard battery fence'
const USES = amount(10, 50)

/** A platform that sends its mail to a server of the test. */
async function start(t: Test, auth: Record<string, unknown> = {}, options: PlatformOptions = {}) {
  const { inbox, url } = await startSmtp(t)
  const mail = { driver: 'smtp', url, from: 'Yard <yard@example.org>' }
  const platform = await startPlatform(t, { only, ...options, config: { mail, auth, ...options.config } })
  const mailTo = (address: string, earlier = 0): Promise<Delivered> =>
    until(() => inbox.filter(({ to }) => to.includes(address))[earlier])
  return { platform, inbox, mailTo }
}

t.test('a lost password is replaced by the link in a message, and everyone is signed out', async (t) => {
  const { platform, inbox, mailTo } = await start(t)
  const player = await platform.signUp({ email: 'ada@example.org', name: 'Ada' })
  const program = await platform.program(player)
  t.equal((await program.get('/api/cli/whoami')).status, 200)
  const browser = new Client(platform.app)
  t.match(await browser.get('/reset-password'), { status: 200, text: /Send the link/ })
  t.match(await browser.submit('/reset-password', { email: ' Ada@Example.org ' }), { status: 202 })
  const mail = await mailTo('ada@example.org')
  t.match(mail, { from: 'yard@example.org', subject: 'A new password for Gameyard', text: /Hello Ada/ })
  const link = linkIn(mail)
  t.match((await browser.get(link)).text, /Choose a new password/)
  t.match((await browser.get(link)).headers, { 'cache-control': 'no-store' }, 'opening it does not use it')

  t.match(await browser.submit(link, { password: 'short' }), { status: 400, text: /at least 10/ }, 'nor does a bad one')
  t.match(await browser.submit(link, { password: NEXT }), {
    status: 303,
    headers: { location: /^\/sign-in\?done=reset$/ },
  })
  t.equal((await player.get('/settings')).status, 303, 'what was signed in is out')
  const signIn = (password: string) => browser.post('/api/auth/sign-in', { email: 'ada@example.org', password })
  t.equal((await signIn(PASSWORD)).status, 401)
  t.match(await signIn(NEXT), { status: 200, body: { user: { emailVerified: true } } }, 'and the address is proven')

  t.equal(
    (await program.get('/api/cli/whoami')).status,
    401,
    'a token made before that may be of whoever used it first',
  )
  t.same(await platform.app.db.query('select id from api_tokens'), [])

  t.match(
    await browser.get(link),
    { status: 410, text: /href="\/reset-password">Get another link/ },
    'and leads to a new one',
  )
  t.equal((await browser.submit(link, { password: PASSWORD })).status, 410, 'it works once')
  t.equal(inbox.length, 1)

  const own = await platform.program(Object.assign(browser, { id: player.id, account: player.account }))
  await browser.submit('/reset-password', { email: 'ada@example.org' })
  const again = linkIn(await mailTo('ada@example.org', 1))
  t.equal((await browser.submit(again, { password: PASSWORD })).status, 303)
  t.equal((await own.get('/api/cli/whoami')).status, 200, 'of a proven address it is the owner’s own')
})

t.test('of many uses of one link at once, one wins', async (t) => {
  const { platform, mailTo } = await start(t)
  await platform.signUp({ email: 'ada@example.org' })
  await platform.stranger.submit('/reset-password', { email: 'ada@example.org' })
  const link = linkIn(await mailTo('ada@example.org'))
  const passwords = Array.from({ length: USES }, (_, index) => `yard battery fence ${index}`)
  const answers = await Promise.all(passwords.map((password) => platform.stranger.submit(link, { password })))
  t.equal(answers.filter(({ status }) => status === 303).length, 1)
  t.equal(answers.filter(({ status }) => status === 410).length, USES - 1)
  const winner = passwords[answers.findIndex(({ status }) => status === 303)] as string
  const signedIn = await platform.stranger.post('/api/auth/sign-in', { email: 'ada@example.org', password: winner })
  t.equal(signedIn.status, 200, 'with the password of the one that won')
})

t.test('a link holds for an hour, and no later than the next new password', async (t) => {
  const { platform, mailTo } = await start(t)
  await platform.signUp({ email: 'ada@example.org' })
  const ask = () => platform.stranger.submit('/reset-password', { email: 'ada@example.org' })
  await ask()
  const old = linkIn(await mailTo('ada@example.org'))
  platform.clock.advance(3_599_000)
  t.equal((await platform.stranger.get(old)).status, 200)
  platform.clock.advance(1000)
  t.equal((await platform.stranger.submit(old, { password: NEXT })).status, 410)

  await ask()
  await ask()
  const [one, other] = [linkIn(await mailTo('ada@example.org', 1)), linkIn(await mailTo('ada@example.org', 2))]
  t.not(one, other)
  t.equal((await platform.stranger.submit(one, { password: NEXT })).status, 303)
  t.equal((await platform.stranger.submit(other, { password: PASSWORD })).status, 410)
  t.equal((await platform.stranger.get('/reset-password/made-up')).status, 410)
  t.equal((await platform.stranger.get(one.replace('reset-password', 'confirm'))).status, 410, 'for nothing else')
})

t.test('the answer tells nothing of whether there is an account', async (t) => {
  const { platform, inbox, mailTo } = await start(t)
  await platform.signUp({ email: 'ada@example.org' })
  const { db } = platform.app
  // It takes as long because the request does the same in both cases: the job looks the account up later.
  await db.execute('create table enqueued (name text, payload text)')
  await db.execute(
    'create trigger note after insert on background_jobs begin insert into enqueued values (new.name, new.payload); end',
  )
  const ask = async (email: string) => {
    const { status, text, headers } = await platform.stranger.submit('/reset-password', { email })
    const jobs = await db.query<{ name: string; payload: string }>('select name, payload from enqueued')
    await db.execute('delete from enqueued')
    const work = jobs.map(({ name, payload }) => ({ name, payload: { ...JSON.parse(payload), nonce: '', email: '' } }))
    return { status, text: text.replaceAll(email, ''), type: headers['content-type'], work }
  }
  const [unknown, known] = [await ask('eve@example.org'), await ask('ada@example.org')]
  t.match(known, { status: 202, work: [{ name: 'oauth-idp/letter' }] })
  t.same(known, unknown)
  await mailTo('ada@example.org')
  // The job of the unknown address came first.
  await until(
    async () => (await db.query('select id from background_jobs where name = ?', ['oauth-idp/letter'])).length === 0,
  )
  t.same(
    inbox.flatMap(({ to }) => to),
    ['ada@example.org'],
    'nothing is sent to who has no account',
  )
})

t.test('nobody is pestered with messages', async (t) => {
  const { platform } = await start(t, {}, { config: { limits: { rateLimits: true } } })
  const ask = (email: string) => platform.stranger.submit('/reset-password', { email })
  for (let count = 0; count < 5; count++) t.equal((await ask('eve@example.org')).status, 202)
  t.match(await ask('EVE@example.org'), { status: 429, headers: { 'retry-after': /^\d+$/ } })
  t.equal((await ask('bob@example.org')).status, 202)
})

t.test('with verifyEmail an account begins with a link and its password', async (t) => {
  const { platform, mailTo } = await start(t, { verifyEmail: true })
  const account = { name: 'Ada', email: 'ada@example.org', password: PASSWORD }
  const asked = await platform.stranger.post('/api/auth/sign-up', account)
  t.match(asked, { status: 202, body: { pending: true } })
  t.notOk(asked.headers['set-cookie'])
  t.equal((await platform.stranger.post('/api/auth/sign-in', account)).status, 400)
  const { email, password } = account
  t.equal((await platform.stranger.post('/api/auth/sign-in', { email, password })).status, 401, 'there is none yet')

  const link = linkIn(await mailTo('ada@example.org'))
  const browser = new Client(platform.app)
  t.match((await browser.get(link)).text, /password that you chose/)
  const wrong = await browser.submit(link, { password: 'not this one at all' })
  t.match(
    wrong,
    { status: 401, text: /not the password that you chose/ },
    'who gets the message may not be who chose it',
  )
  t.equal((await browser.submit(link, { password: PASSWORD })).status, 303)
  t.match((await browser.get('/api/auth/session')).body.user, { email: 'ada@example.org', emailVerified: true })
  t.equal((await browser.submit(link, { password: PASSWORD })).status, 410)
})

t.test('with verifyEmail a known address is answered like an unknown one, and its owner is told', async (t) => {
  const { platform, inbox, mailTo } = await start(t, { verifyEmail: true })
  await platform.app.identity.players.create({ name: 'Ada', email: 'ada@example.org', password: PASSWORD })
  const signUp = (email: string) => platform.stranger.post('/api/auth/sign-up', { name: 'Eve', email, password: NEXT })
  const [known, unknown] = [await signUp('ada@example.org'), await signUp('eve@example.org')]
  t.same([known.status, known.text], [unknown.status, unknown.text])
  t.match(await mailTo('ada@example.org'), { subject: 'You have an account on Gameyard', text: /sign-in/ })
  t.notOk(inbox.some(({ to, text }) => to.includes('ada@example.org') && text.includes('/confirm/')))
  t.match(await mailTo('eve@example.org'), { subject: /Confirm/ })
})

t.test('two who wait for one address: who proves to own it has the account', async (t) => {
  const { platform, mailTo } = await start(t, { verifyEmail: true })
  const wait = (password: string) =>
    platform.stranger.post('/api/auth/sign-up', { name: 'Ada', email: 'ada@example.org', password })
  await wait('the password of an attacker')
  const foreign = linkIn(await mailTo('ada@example.org'))
  await wait(PASSWORD)
  const own = linkIn(await mailTo('ada@example.org', 1))
  t.equal((await platform.stranger.submit(foreign, { password: PASSWORD })).status, 401)
  t.equal((await platform.stranger.submit(own, { password: PASSWORD })).status, 303)
  t.equal((await platform.stranger.get(foreign)).status, 410, 'the other link is gone')
})

t.test('an address is verified from the settings, by the player who asked and nobody else', async (t) => {
  const { platform, mailTo } = await start(t)
  const player = await platform.signUp({ email: 'ada@example.org' })
  const other = await platform.signUp()
  t.match((await player.get('/settings')).text, /not verified/)
  t.equal((await player.submit('/settings/verify-email', {})).status, 202)
  const link = linkIn(await mailTo('ada@example.org'))
  t.equal((await platform.stranger.get(link)).status, 303, 'one signs in first')
  t.equal((await other.submit(link, {})).status, 403)
  t.match((await player.get('/api/auth/session')).body.user, { emailVerified: false })
  t.match(await player.submit(link, {}), { status: 303, headers: { location: /^\/settings\?done=verified$/ } })
  t.match((await player.get('/api/auth/session')).body.user, { emailVerified: true })
  t.equal((await player.submit(link, {})).status, 410)
  t.equal((await player.submit('/settings/verify-email', {})).status, 409)
})

t.test('with the log driver the link is in the log, and nothing else of it is', async (t) => {
  const { log, lines } = captureLog()
  const platform = await startPlatform(t, { only, log })
  await platform.signUp({ email: 'ada@example.org' })
  t.match((await platform.stranger.submit('/reset-password', { email: 'ada@example.org' })).text, /in the log/)
  const mail = await until(() => lines().find(({ subject }) => subject !== undefined))
  const link = linkIn(mail as { text: string })
  t.equal((await platform.stranger.submit(link, { password: NEXT })).status, 303)
  const token = link.split('/').at(-1) as string
  t.equal(lines().filter((line) => JSON.stringify(line).includes(token)).length, 1, 'the request is logged without it')
  t.notMatch(await dumpOf(platform), token)
})

t.test('the log names the player whose mail was refused for good', async (t) => {
  const { log, lines } = captureLog()
  const { url } = await startSmtp(t, { refuse: () => 550 })
  const mail = { driver: 'smtp', url, from: 'yard@example.org' }
  const platform = await startPlatform(t, { only, log, config: { mail } })
  const player = await platform.signUp({ email: 'ada@example.org' })
  const refused = (kind: string) => until(() => lines().find((line) => line.kind === kind))
  await platform.stranger.submit('/reset-password', { email: 'ada@example.org' })
  t.match(await refused('reset'), { playerId: player.id })
  await platform.app.db.transaction((em) => platform.app.identity.writeTo(em, player.id, 'Hello', 'You.'))
  t.match(await refused('notice'), { playerId: player.id })
})

t.test('no link can be read from the database, though its message waits there', async (t) => {
  const refusing = await startSmtp(t, { refuse: () => 450 })
  const mail = { driver: 'smtp', url: refusing.url, from: 'yard@example.org' }
  const platform = await startPlatform(t, { only, config: { mail } })
  await platform.signUp({ email: 'ada@example.org' })
  await platform.stranger.submit('/reset-password', { email: 'ada@example.org' })
  const job = await until(async () => {
    const [failed] = await platform.app.db.query<{ payload: string }>(
      "select payload from background_jobs where name = 'oauth-idp/letter' and error is not null",
    )
    return failed
  })
  const { nonce } = JSON.parse(job.payload)
  t.equal(nonce.length, 43, 'it waits to be tried again')
  t.equal((await platform.stranger.get(`/reset-password/${nonce}`)).status, 410, 'what is there is not the token')
})

async function dumpOf({ app }: Awaited<ReturnType<typeof startPlatform>>): Promise<string> {
  const em = app.db.em()
  const tables = await em.execute<{ name: string }[]>("select name from sqlite_master where type = 'table'")
  let dump = ''
  for (const { name } of tables) dump += JSON.stringify(await em.execute(`select * from ${name}`))
  return dump
}

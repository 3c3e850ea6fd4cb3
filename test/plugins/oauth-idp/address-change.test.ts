import t, { type Test } from 'tap'
import { Client, PASSWORD, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { type Delivered, linkIn, startSmtp } from '../../kit/smtp.ts'
import { until } from '../../kit/until.ts'

const only = ['oauth-idp', 'tokens']
const OLD = 'ada@example.org'
const NEW = 'ada@new.example'

async function start(t: Test, limits = {}) {
  const { inbox, url } = await startSmtp(t)
  const config = { mail: { driver: 'smtp', url, from: 'Yard <yard@example.org>' }, limits }
  const platform = await startPlatform(t, { only, config })
  const letterTo = (address: string, subject: RegExp): Promise<Delivered> =>
    until(() => inbox.filter((letter) => letter.to.includes(address) && subject.test(letter.subject ?? '')).at(-1))
  const ada = await platform.signUp({ email: OLD, name: 'Ada' })
  const ask = (email: string, password = PASSWORD, client: PlayerClient = ada) =>
    client.submit('/settings/email', { email, password })
  const signIn = (email: string) => new Client(platform.app).post('/api/auth/sign-in', { email, password: PASSWORD })
  return { platform, inbox, letterTo, ada, ask, signIn }
}

t.test('an address is changed by the link sent to the new one, and the old one is told', async (t) => {
  const { platform, letterTo, ada, ask, signIn } = await start(t)
  // This link to the old address precedes the change.
  await platform.stranger.submit('/reset-password', { email: OLD })
  const reset = linkIn(await letterTo(OLD, /new password/))

  t.match(await ask(` ${NEW.toUpperCase()} `), { status: 202, text: /Look into your mail/ })
  const link = linkIn(await letterTo(NEW, /Confirm your email/))
  t.match(link, /\/new-email\//)
  t.equal((await signIn(NEW)).status, 401, 'nothing has changed yet')
  t.match(await ada.get(link), { status: 200, text: new RegExp(NEW), headers: { 'cache-control': 'no-store' } })
  t.equal((await signIn(OLD)).status, 200, 'nor by opening the link')

  const bob = await platform.signUp({ name: 'Bob' })
  t.equal((await bob.get(link)).status, 403, 'it is for whoever asked')
  t.equal((await bob.submit(link, {})).status, 403)
  t.equal((await platform.stranger.submit(link, {})).status, 303, 'who has to be signed in')

  t.match(await ada.submit(link, {}), { status: 303, headers: { location: /^\/settings\?done=address$/ } })
  t.match(await signIn(NEW), { status: 200, body: { user: { id: ada.id, email: NEW, emailVerified: true } } })
  t.equal((await signIn(OLD)).status, 401)
  t.match(await letterTo(OLD, /was changed/), { text: /Hello Ada/ })
  t.equal((await ada.submit(link, {})).status, 410, 'it works once')
  t.equal((await platform.stranger.get(reset)).status, 410, 'links to the old address are worth nothing')
})

t.test('a change takes the password, and an address that can be one', async (t) => {
  const { inbox, ada, ask } = await start(t, { rateLimits: true })
  t.match(await ask(NEW, 'not the password'), { status: 400, text: /This is not your password/ })
  t.match(await ask('nonsense'), { status: 400, text: /whole email address/ })
  t.match(await ask(OLD), { status: 400, text: /your address already/ })
  t.match((await ask('nonsense')).text, /<details class="confirm" open/, 'the form is open, with what is wrong')
  t.match((await ada.get('/settings')).text, OLD)
  t.equal(inbox.length, 0)
  for (let tries = 0; tries < 10; tries++) await ask(NEW, 'not the password')
  t.match(await ask(NEW), { status: 429, headers: { 'retry-after': /\d/ } }, 'and passwords are not guessed here')
})

t.test('without a password it takes a fresh sign-in', async (t) => {
  const { platform, ask, letterTo } = await start(t)
  const { db, clock } = platform.app
  await db.execute('update players set password_hash = null where email = ?', [OLD])
  t.equal((await ask(NEW, '')).status, 202)
  await letterTo(NEW, /Confirm/)
  platform.clock.advance(601_000)
  t.ok(clock.now())
  t.match(await ask('other@new.example', ''), { status: 403, text: /Sign out and in again/ })
})

t.test('an address that has an account is not told of, and not taken', async (t) => {
  const { platform, letterTo, ada, ask, signIn } = await start(t)
  await platform.signUp({ email: 'bob@example.org', name: 'Bob' })
  t.equal((await ask('bob@example.org')).status, 202, 'the answer is the same')
  t.match(await letterTo('bob@example.org', /You have an account/), { text: /Hello Bob/ })

  await ask(NEW)
  const link = linkIn(await letterTo(NEW, /Confirm/))
  await platform.signUp({ email: NEW, name: 'Faster' })
  t.equal((await ada.submit(link, {})).status, 409)
  t.equal((await signIn(OLD)).status, 200, 'the account is as it was')

  // Only the latest link counts.
  await ask('first@new.example')
  const first = linkIn(await letterTo('first@new.example', /Confirm/))
  await ask('second@new.example')
  await letterTo('second@new.example', /Confirm/)
  t.equal((await ada.submit(first, {})).status, 410)
})

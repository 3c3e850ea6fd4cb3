import t from 'tap'
import { Client, PASSWORD, startPlatform } from '../../kit/platform.ts'

const only = ['oauth-idp', 'tokens']

t.test('a player changes name and password in the settings', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp({ name: 'Ada' })
  const elsewhere = new Client(platform.app)
  await elsewhere.post('/api/auth/sign-in', { email: player.account.email, password: PASSWORD })

  t.match(await player.submit('/settings/name', { name: 'Ada L.' }), { status: 303 })
  t.match((await player.get('/settings?done=name')).text, /Your name is changed/)
  t.match((await player.get('/settings')).text, /Ada L\./, 'also in the menu, at once')
  for (const name of ['', '\u200b', '\u3164\u2800', '\u00ad', 'x'.repeat(61)])
    t.match(
      await player.submit('/settings/name', { name }),
      { status: 400, text: /Enter a name/ },
      JSON.stringify(name),
    )
  const family = '👨\u200d👩\u200d👧\u200d👦'
  for (const [name, shown] of [
    [family.repeat(8), family.repeat(8)],
    ['Ada L.\u200b', 'Ada L.'],
  ] as const) {
    await player.submit('/settings/name', { name })
    t.equal((await player.get('/api/auth/session')).body.user.name, shown)
  }

  const wrong = await player.submit('/settings/password', { current: 'wrong password', password: 'a new yard battery' })
  t.match(wrong, { status: 401, text: /not your password/ })
  const weak = await player.submit('/settings/password', { current: PASSWORD, password: 'short' })
  t.match(weak, { status: 400, text: /at least 10/ })
  t.equal((await elsewhere.get('/settings')).status, 200)
  const before = (await platform.app.identity.players.standing(player.id))?.epoch ?? Number.NaN
  const changed = await player.submit('/settings/password', { current: PASSWORD, password: 'a new yard battery' })
  t.equal(changed.status, 303)
  t.equal((await player.get('/settings')).status, 200, 'this browser stays signed in')
  t.equal((await elsewhere.get('/settings')).status, 303, 'every other is out')
  t.equal((await platform.app.identity.players.standing(player.id))?.epoch, before + 1)
})

t.test('password managers find the form, and whose password it is', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp({ email: 'ada@example.org' })
  const { status, headers } = await platform.stranger.get('/.well-known/change-password')
  t.same([status, headers.location], [302, '/settings/security'])
  t.match((await player.get('/settings/security')).text, /value="ada@example\.org" autocomplete="username"/)
})

t.test('a password in decomposed letters signs in again', async (t) => {
  const platform = await startPlatform(t, { only })
  const letters = Array.from({ length: 180 }, (_, index) => String.fromCodePoint(0xac01 + index * 29))
  const password = letters.join('').normalize('NFD')
  const player = await platform.signUp()
  t.equal((await player.submit('/settings/password', { current: PASSWORD, password })).status, 303)
  const signIn = (password: string) =>
    new Client(platform.app).post('/api/auth/sign-in', { email: player.account.email, password })
  t.equal((await signIn(password)).status, 200)
  t.equal((await signIn(password.normalize('NFC'))).status, 200)
  t.equal((await signIn(`${password}x`)).status, 401)
})

t.test('a player signs another browser out', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const elsewhere = new Client(platform.app)
  const credentials = { email: player.account.email, password: PASSWORD }
  const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
  await elsewhere.post('/api/auth/sign-in', credentials, { headers: { 'user-agent': firefox } })
  const { text } = await player.get('/settings/security')
  t.match(text, /Firefox on Linux/)
  const path = /action="(\/settings\/sessions\/ses_[^"]+\/revoke)"/.exec(text)?.[1] as string
  const stranger = await platform.signUp()
  t.equal((await stranger.submit(path, {})).status, 404, "nobody signs another player's browsers out")
  t.equal((await elsewhere.get('/settings')).status, 200)
  t.equal((await player.submit(path, {})).status, 303)
  t.equal((await elsewhere.get('/settings')).status, 303, 'at once')
  t.equal((await player.get('/settings')).status, 200)
})

t.test('who was let in by a password that is replaced before the session begins is not in', async (t) => {
  const platform = await startPlatform(t, { only })
  const { passwords } = platform.app.identity
  const player = await platform.signUp()
  const { email } = player.account
  const authenticate = passwords.authenticate.bind(passwords)
  t.teardown(() => Object.assign(passwords, { authenticate }))
  let current = PASSWORD
  /** The next check of a password is followed by a reset, before anything comes of it. */
  const resetAfterCheck = (next: string) =>
    Object.assign(passwords, {
      authenticate: async (...given: Parameters<typeof authenticate>) => {
        Object.assign(passwords, { authenticate })
        const known = await authenticate(...given)
        await passwords.reset(email, next)
        current = next
        return known
      },
    })

  const browser = new Client(platform.app)
  resetAfterCheck('another yard battery one')
  const signIn = await browser.post('/api/auth/sign-in', { email, password: current })
  t.match(signIn, { status: 401, body: { error: { code: 'invalid_credentials' } } })
  t.notOk(signIn.headers['set-cookie'])
  resetAfterCheck('another yard battery two')
  t.match(await browser.submit('/sign-in', { email, password: current }), { status: 401, text: /is wrong/ })
  t.same(await platform.app.db.query('select id from sessions'), [], 'nobody is signed in')

  t.equal((await player.post('/api/auth/sign-in', { email, password: current })).status, 200)
  resetAfterCheck('another yard battery three')
  const change = await player.submit('/settings/password', { current, password: 'the yard of a stranger' })
  t.match(change, { status: 401 }, 'nor does a change that was under way undo the reset')
  t.equal((await browser.post('/api/auth/sign-in', { email, password: current })).status, 200)
})

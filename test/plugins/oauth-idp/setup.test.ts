import t from 'tap'
import { Client, PASSWORD, startPlatform } from '../../kit/platform.ts'

const only = ['oauth-idp']
const admin = { name: 'Grace', email: 'grace@example.org', password: PASSWORD }

t.test('the set-up link makes the first administrator, once', async (t) => {
  const platform = await startPlatform(t, { only })
  const link = (await platform.app.identity.setupUrl()) as string
  t.match(link, /^http:\/\/localhost:8080\/setup\/[\w-]{43}$/)
  t.equal(await platform.app.identity.setupUrl(), link, 'the same at every start')
  const { pathname } = new URL(link)
  const browser = new Client(platform.app)
  const telling = async () => {
    const pages = await Promise.all(['/sign-in', '/sign-up'].map((path) => platform.stranger.get(path)))
    return pages.map(({ text }) => text.includes('Open the set-up link'))
  }

  t.equal((await browser.get(pathname)).status, 200)
  t.same(await telling(), [true, true], 'who comes without it is told of it')
  const wrong = await browser.submit(pathname, { ...admin, password: 'short' })
  t.match(wrong, { status: 400, text: /Use at least 10 characters/ })
  const empty = await browser.submit(pathname, { name: ' ', email: 'grace', password: 'short' })
  for (const trouble of [/Enter a name/, /Enter a whole email address/, /Use at least 10 characters/])
    t.match(empty.text, trouble, 'all that is wrong is said at once')
  t.match(empty.text, /name="name"[^>]* autofocus/, 'and one types in the first of it')
  t.match(wrong.text, /name="password"[^>]* autofocus/)
  t.match(await browser.submit(pathname, admin), { status: 303, headers: { location: /^\/admin\/players$/ } })
  t.match((await browser.get('/api/auth/session')).body, { signedIn: true, user: { isAdmin: true, name: 'Grace' } })

  t.same(await telling(), [false, false], 'and then no more')
  t.equal(await platform.app.identity.setupUrl(), null)
  t.equal((await platform.stranger.get(pathname)).status, 410)
  t.equal((await platform.stranger.submit(pathname, { ...admin, email: 'x@example.org' })).status, 410)
})

t.test('of many who open the link at once one becomes administrator', async (t) => {
  const platform = await startPlatform(t, { only })
  const { pathname } = new URL((await platform.app.identity.setupUrl()) as string)
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, number) =>
      platform.stranger.submit(pathname, { ...admin, email: `grace${number}@example.org` }),
    ),
  )
  t.same(answers.map(({ status }) => status).sort(), [303, ...Array(11).fill(410)])
})

t.test('a guessed link is none', async (t) => {
  const platform = await startPlatform(t, { only })
  await platform.app.identity.setupUrl()
  for (const token of ['x', 'A'.repeat(43), '%00', 'é'.repeat(22)]) {
    t.equal((await platform.stranger.get(`/setup/${encodeURIComponent(token)}`)).status, 410, token)
    t.equal((await platform.stranger.submit(`/setup/${encodeURIComponent(token)}`, admin)).status, 410, token)
  }
  t.equal((await platform.stranger.get('/setup/%ff')).status, 400, 'what is no text at all')
})

t.test('the link ends when an administrator is made elsewhere', async (t) => {
  const platform = await startPlatform(t, { only })
  const { pathname } = new URL((await platform.app.identity.setupUrl()) as string)
  await platform.app.identity.players.createByHost(admin, 'admin')
  t.equal(await platform.app.identity.setupUrl(), null)
  t.equal((await platform.stranger.get(pathname)).status, 410)
  t.equal((await platform.stranger.submit(pathname, { ...admin, email: 'x@example.org' })).status, 410)

  await platform.app.db.execute('update players set disabled = ?', [true])
  const again = new URL((await platform.app.identity.setupUrl()) as string).pathname
  t.equal((await platform.stranger.get(again)).status, 200, 'one who is disabled can let nobody in')
  t.equal((await platform.stranger.submit(again, { ...admin, email: 'x@example.org' })).status, 303)
  t.equal(await platform.app.identity.setupUrl(), null)
})

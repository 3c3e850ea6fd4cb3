import t from 'tap'
import { homeOf } from '../../../clients/cli/platform.ts'
import { startPlatform } from '../../kit/platform.ts'

const LAN = { lan: { enabled: true, address: '127.0.0.1', name: 'yard' } }

t.test('/join shows the address, its QR code, and what to do next', async (t) => {
  const { stranger, portal } = await startPlatform(t, { config: LAN })
  t.equal(portal, 'http://127.0.0.1:8080', 'the portal is where the LAN mode says')
  const { status, text, headers } = await stranger.get('/join')
  t.equal(status, 200)
  t.match(text, /aria-label="http:\/\/127\.0\.0\.1:8080"/)
  t.match(text, /<svg class="qr"[^>]* role="img" aria-label="QR code of 127.0.0.1:8080"/)
  t.match(text, /yard\.local:8080/)
  t.match(text, /action="\/guest"/, 'a name is enough')
  t.match(text, /gameyard login --url http:\/\/127\.0\.0\.1:8080/, 'and a maker is told the command')
  t.match(headers['content-security-policy'], /style-src 'self'/)
  t.notMatch(text, /style="|unsafe-inline/)
})

t.test('the terminal names the port with the announced name', async (t) => {
  const { app } = await startPlatform(t, { config: LAN })
  const join = app.announcements.find(({ label }) => label === 'Join')
  t.match(await join?.text(), /; yard\.local:8080 leads there too$/)
})

t.test('a guest from /join gives a proof of work where one is required', async (t) => {
  const config = { ...LAN, auth: { signUpChallenge: 'work' } }
  const { app, stranger } = await startPlatform(t, { config: { portal: { url: 'http://localhost:8080' }, ...config } })
  const { text } = await stranger.get('/join')
  t.match(text, /action="\/guest"[\s\S]*?<input type="hidden" name="work" data-work[\s\S]*?<\/form>/)
  t.match(text, /<script[^>]+sign-up-work/)
  t.match(await stranger.submit('/guest', { name: 'Gus', returnTo: '/' }), { status: 403, text: /Just playing\?/ })
  t.equal((await app.db.query('select id from players')).length, 0, 'no guest without one')
})

t.test('where none is required, /join has no script for it', async (t) => {
  const { stranger } = await startPlatform(t, { config: LAN })
  t.notMatch((await stranger.get('/join')).text, /data-work|sign-up-work/)
})

t.test('the announced name leads to the one address, page or not, and nowhere else', async (t) => {
  const { stranger } = await startPlatform(t, { config: LAN })
  const host = 'yard.local:8080'
  t.match(await stranger.get('/games/pong?x=1', { host }), {
    status: 302,
    headers: { location: 'http://127.0.0.1:8080/games/pong?x=1' },
  })
  t.match(await stranger.post('/api/auth/sign-in', { email: 'a', password: 'b' }, { host }), {
    status: 307,
    headers: { location: 'http://127.0.0.1:8080/api/auth/sign-in', 'set-cookie': undefined },
  })
  t.equal((await stranger.get('/healthz', { host })).status, 200)
  t.equal((await stranger.get('/', { host: 'other.local:8080' })).status, 421)
})

t.test('the command line signs in at the address, whatever name it was told', async (t) => {
  const { app } = await startPlatform(t, { listen: true, config: LAN })
  const { port, origin } = new URL(app.origins.portal)
  t.equal(await homeOf(`http://localhost:${port}`, 'test'), origin, 'another name of the machine')
  t.equal(await homeOf(origin, 'test'), origin)
  t.equal(await homeOf('http://127.0.0.1:1', 'test'), 'http://127.0.0.1:1', 'nobody there')
})

t.test('without the LAN mode /join shows the address of the portal', async (t) => {
  const { stranger } = await startPlatform(t)
  const { status, text } = await stranger.get('/join')
  t.equal(status, 200)
  t.match(text, /aria-label="http:\/\/localhost:8080"/)
  t.notMatch(text, /\.local|action="\/guest"/)
})

// Tests new keys for a running platform, whose process detects them.
import { once } from 'node:events'
import { decodeProtectedHeader } from 'jose'
import t from 'tap'
import WebSocket from 'ws'
import { ask, publishAt, signInAt } from '../kit/remote-game.ts'
import { freePort } from '../kit/server.ts'
import { until } from '../kit/until.ts'
import { run, start, temporaryFolder } from './program.ts'

t.test('keys turn over while the platform runs', async (t) => {
  const cwd = temporaryFolder(t)
  const port = await freePort()
  const server = start(t, ['serve', '--port', String(port)], { cwd })
  await server.says('"ready"')
  const kids = async () => {
    const answer = await fetch(`http://localhost:${port}/api/oauth/jwks`)
    return ((await answer.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
  }
  /** There are two sorts of keys, which the platform reads one after the other. */
  const changed = (isDone: (now: string[]) => boolean) =>
    until(async () => {
      const now = await kids()
      return isDone(now) && now
    })
  const before = await kids()
  const [current, next] = before
  t.match(await run(t, ['keys', 'rotate', 'signing'], { cwd }), { code: 0, stdout: /next key.*published for a day/ })
  const both = await changed((now) => now.length === (before.length / 2) * 3)
  t.same([both[0], both[2]], [next, current], 'the next one signs, the one before is still published')

  const told = await run(t, ['keys', 'rotate', '--now', '--json'], { cwd })
  t.same(JSON.parse(told.stdout), { rotated: ['signing', 'sessions'], immediate: true })
  const fresh = await changed((now) => !now.some((kid) => both.includes(kid)))
  t.equal(fresh.length, before.length, 'none of the former ones is published')
  t.match(await run(t, ['keys', 'rotate', 'sessions'], { cwd }), { code: 0, stdout: /within 7 days/ })
  server.process.kill('SIGTERM')
  t.match(await server.ended, { code: 0 })
})

t.test('players go on through an overlap, and stolen keys let nobody stay', async (t) => {
  const cwd = temporaryFolder(t)
  const port = await freePort()
  const portal = `http://localhost:${port}`
  const server = start(t, ['serve', '--port', String(port)], { cwd })
  await server.says('"ready"')
  const { slug, cookie: portalCookie } = await publishAt(portal, { 'index.html': '<title>Pong</title>' })
  const game = `http://${slug}.localhost:${port}`
  const cookie = await signInAt(port, game, portalCookie)
  const isSignedIn = async (cookie: string) =>
    JSON.parse((await ask(port, `${game}/auth/service/session`, { cookie })).body).signedIn
  const headers = { host: new URL(game).host, origin: game, cookie }
  const room = new WebSocket(`ws://127.0.0.1:${port}/mp/rooms/lobby`, { headers })
  t.teardown(() => room.terminate())
  await once(room, 'message')
  const closed = once(room, 'close')

  t.equal((await run(t, ['keys', 'rotate'], { cwd })).code, 0)
  const later = () =>
    until(async () => {
      const cookie = await signInAt(port, game, portalCookie)
      return decodeProtectedHeader(cookie.slice(cookie.indexOf('=') + 1)).kid !== undefined && cookie
    })
  const sealedAnew = await later()
  t.same([await isSignedIn(cookie), await isSignedIn(sealedAnew)], [true, true])
  t.equal(room.readyState, WebSocket.OPEN)

  t.equal((await run(t, ['keys', 'rotate', 'sessions', '--now'], { cwd })).code, 0)
  t.equal((await closed)[0], 1008, 'out of the room')
  t.same([await isSignedIn(cookie), await isSignedIn(sealedAnew)], [false, false])
  t.equal(await isSignedIn(await signInAt(port, game, portalCookie)), true, 'and back in')
})

t.test('what cannot be rotated is one sentence', async (t) => {
  const cwd = temporaryFolder(t)
  t.match(await run(t, ['keys', 'rotate'], { cwd }), {
    code: 1,
    stderr: /^There is no platform with its data in [^\n]+\n$/,
  })
  t.match(await run(t, ['keys', 'rotate', 'everything'], { cwd }), {
    code: 2,
    stderr: /expected signing, sessions, all/,
  })
})

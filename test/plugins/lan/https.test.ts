// Tests with real sockets https from the platform's own authority, and plain http on the same ports.
import { once } from 'node:events'
import { get as getPlain } from 'node:http'
import { get as getSecure } from 'node:https'
import { connect } from 'node:net'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import WebSocket from 'ws'
import { startPlatform } from '../../kit/platform.ts'

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

function ask(url: string, { ca, host }: { ca?: string; host?: string } = {}): Promise<Answer> {
  const options = { agent: false as const, ...(ca ? { ca } : {}), ...(host ? { headers: { host } } : {}) }
  return new Promise((resolve, reject) => {
    const outgoing = url.startsWith('https:') ? getSecure(url, options) : getPlain(url, options)
    outgoing.on('error', reject)
    outgoing.on('response', async (incoming) => {
      const text = Buffer.concat(await incoming.toArray()).toString()
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text })
    })
  })
}

const lan = { enabled: true, address: '127.0.0.1', name: 'yard', https: true }
const authorityOf = (app: FastifyInstance) => app.localAuthority?.certificate ?? ''

t.test('portal, games and rooms speak https to whoever trusts the authority', async (t) => {
  const platform = await startPlatform(t, { listen: true, config: { lan, limits: { shutdownSeconds: 3600 } } })
  const { app, portal } = platform
  const { port } = new URL(portal)
  const ca = authorityOf(app)
  t.match(portal, /^https:\/\/127\.0\.0\.1:\d+$/)
  await t.rejects(ask(`${portal}/join`), { code: /SELF_SIGNED|UNABLE_TO_VERIFY/ }, 'nobody else')

  const page = await ask(`${portal}/join`, { ca })
  t.equal(page.status, 200)
  t.equal(page.headers['strict-transport-security'], undefined, "tomorrow's jam may do without")
  t.equal((await ask(`https://localhost:${port}/x?y`, { ca })).headers.location, `${portal}/x?y`)

  const player = await platform.signUp()
  t.match([...player.cookiesOf().keys()], ['__Host-session'])
  const game = await platform.game(player, { title: 'Pong' })
  t.match(game.oauth.redirectUri, /^https:\/\/127\.0\.0\.1:\d+\/auth\/service\/callback$/)
  const mp = JSON.parse((await ask(`${game.url}/mp`, { ca })).text)
  t.match(mp, { rooms: /^wss:/ })
  const socket = new WebSocket(mp.rooms.replace('{roomId}', 'lobby'), { ca, origin: game.url })
  socket.on('error', () => {})
  const [, refusal] = await once(socket, 'unexpected-response')
  t.equal(refusal.statusCode, 401, 'an upgrade reaches the rooms')
  socket.terminate()

  await t.test('plain http on the same port leads to the certificate, or to the same place on https', async (t) => {
    const plain = portal.replace('https:', 'http:')
    t.match(await ask(`${plain}/`), { status: 307, headers: { location: `${plain}/join/certificate` } })
    const guide = await ask(`${plain}/join/certificate`)
    t.equal(guide.status, 200)
    t.match(guide.text, /Certificate Trust Settings/)
    t.match(guide.text, app.localAuthority?.fingerprint ?? 'none')
    const style = /href="(\/_assets\/styles[^"]+)"/.exec(guide.text)?.[1]
    t.equal((await ask(plain + style)).status, 200, 'with its style')
    const file = await ask(`${plain}/join/certificate/gameyard-lan.crt`)
    t.equal(file.text, ca)
    t.equal(file.headers['content-type'], 'application/x-x509-ca-cert')
    t.match(await ask(`${plain}/games/pong?x=1`), { status: 307, headers: { location: `${portal}/games/pong?x=1` } })
    t.match(await ask(`${game.url.replace('https:', 'http:')}/a`), {
      status: 307,
      headers: { location: `${game.url}/a` },
    })
    const named = `yard.local:${port}`
    t.equal((await ask(`${plain}/`, { host: named })).headers.location, `${plain}/join/certificate`)
    t.equal((await ask(`${plain}/join/certificate`, { host: named })).headers.location, `${plain}/join/certificate`)
    t.equal((await ask(`${plain}/api/jam`)).status, 307, 'no API over plain http')
  })

  await t.test('a stop does not wait for a connection that says nothing', async (t) => {
    const silent = connect(Number(port), '127.0.0.1')
    silent.on('error', () => {})
    // Neither its silence nor the deadline of the shutdown ends it.
    const [[accepted]] = await Promise.all([once(app.server, 'connection'), once(silent, 'connect')])
    accepted.setTimeout(0)
    await app.close()
    t.ok(accepted.destroyed)
  })
})

t.test('without https of our own there is nothing to trust', async (t) => {
  const { stranger } = await startPlatform(t)
  t.match((await stranger.get('/join/certificate')).text, /No certificate needed/)
  t.equal((await stranger.get('/join/certificate/gameyard-lan.crt')).status, 404)
})

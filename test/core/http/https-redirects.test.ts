// Tests with real sockets that plain http redirects to https, on the port of https itself and on another one.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { get, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { openLocalAuthority } from '../../../core/origins/local-authority.ts'
import { startKernel } from '../../kit/kernel.ts'
import { freePort } from '../../kit/server.ts'

/**
 * Starts a platform at https://yard.example:<port>, with games below yard-games.example, and a port that redirects
 * there.
 */
async function start(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-plain-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { certificate } = await openLocalAuthority({ dataDir: folder, hosts: ['localhost'] }, { now: () => new Date() })
  const tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem'), challenges: join(folder, 'web') }
  writeFileSync(tls.cert, certificate.cert)
  writeFileSync(tls.key, certificate.key)
  const [port, redirectPort] = [await freePort(), await freePort()]
  const app = await startKernel(t, {
    config: {
      listen: { host: '127.0.0.1', port, tls: { ...tls, redirectPort } },
      portal: { url: `https://yard.example:${port}` },
      studio: { url: `https://studio.example:${port}` },
      games: { domain: `yard-games.example:${port}` },
    },
  })
  app.origins.setDomains([{ name: 'play.maker.example', slug: 'pong', isPrimary: false }])
  await app.listen({ host: '127.0.0.1', port })
  await app.httpsRedirects.listen()
  return { app, folder, port, redirectPort }
}

interface Answer {
  status: number | undefined
  location: string | undefined
  caching: string | undefined
  body: string
}

const ask = (port: number, host: string, path = '/', method = 'GET') =>
  new Promise<Answer>((done, failed) => {
    const asked = { host: '127.0.0.1', port, path, method, headers: { host }, agent: false }
    const sent = request(asked, async (response) => {
      const { location, 'cache-control': caching } = response.headers
      done({ status: response.statusCode, location, caching, body: await text(response) })
    })
    sent.on('error', failed)
    sent.end()
  })

t.test('who types an address without its scheme is led to the same place on https', async (t) => {
  const { port, redirectPort } = await start(t)
  const known: [string, string][] = [
    ['yard.example', `https://yard.example:${port}`],
    ['YARD.example', `https://yard.example:${port}`],
    ['studio.example', `https://studio.example:${port}`],
    ['yard-games.example', `https://yard.example:${port}`],
    ['pong.yard-games.example', `https://pong.yard-games.example:${port}`],
    ['play.maker.example', `https://play.maker.example:${port}`],
  ]
  for (const [name, origin] of known) {
    for (const [at, host] of [
      [port, `${name}:${port}`],
      [redirectPort, `${name}:${redirectPort}`],
      [redirectPort, name],
    ] as const) {
      const path = '/level/2?from=http://evil.example'
      t.match(
        await ask(at, host, path),
        { status: 308, location: origin + path, caching: 'max-age=3600' },
        `${host} at ${at}`,
      )
    }
  }
  t.match(await ask(redirectPort, 'yard.example', '/api/games', 'POST'), { status: 308 }, 'with its method')
  for (const at of [port, redirectPort]) {
    t.match(await ask(at, '127.0.0.1', '/docs'), {
      status: 307,
      location: `https://yard.example:${port}/docs`,
      caching: 'no-store',
    })
  }
  t.match(await ask(redirectPort, 'yard.example', '//evil.example/'), {
    location: `https://yard.example:${port}//evil.example/`,
  })
})

t.test('a name that is nobody’s is led nowhere', async (t) => {
  const { port, redirectPort } = await start(t)
  const names = ['evil.example', 'maker.example', 'yard.example.evil.example', 'evil.example@yard.example', 'a b']
  for (const at of [port, redirectPort]) {
    for (const name of names) {
      const { status, location } = await ask(at, name)
      t.same(
        { name, refused: status === 421 || status === 400, location },
        { name, refused: true, location: undefined },
      )
    }
  }
  const whole = await new Promise<string>((done, failed) => {
    const socket = connect(redirectPort, '127.0.0.1', () =>
      socket.end('GET http://evil.example/x HTTP/1.1\r\nHost: yard.example\r\nConnection: close\r\n\r\n'),
    )
    text(socket).then(done, failed)
  })
  t.match(whole, /^location: https:\/\/yard\.example:\d+\/\r$/m, 'an address in the request line is not followed')
})

t.test('challenges of an authority are answered from their folder, and nothing else is', async (t) => {
  const { folder, redirectPort } = await start(t)
  const challenges = join(folder, 'web/.well-known/acme-challenge')
  mkdirSync(challenges, { recursive: true })
  writeFileSync(join(challenges, 'to-ken_1'), 'to-ken_1.thumbprint')
  writeFileSync(join(folder, 'web/secret'), 'secret')
  symlinkSync(join(folder, 'web'), join(challenges, 'folder'))
  const at = (path: string) => ask(redirectPort, 'pong.yard-games.example', path)
  t.match(await at('/.well-known/acme-challenge/to-ken_1'), { status: 200, body: 'to-ken_1.thumbprint' })
  t.match(await at('/.well-known/acme-challenge/other'), { status: 404, body: '' })
  t.match(await at('/.well-known/acme-challenge/folder'), { status: 404 })
  for (const path of ['../../secret', '..%2f..%2fsecret', 'folder/secret', '']) {
    t.match(await at(`/.well-known/acme-challenge/${path}`), { status: 308, body: '' }, path)
  }
  const other = await ask(redirectPort, 'new.example', '/.well-known/acme-challenge/to-ken_1')
  t.equal(other.status, 200, 'also for a name that is not served yet')
})

t.test('the port ends with the server, and says so when it can’t be opened', async (t) => {
  const { app, redirectPort } = await start(t)
  await t.rejects(app.httpsRedirects.listen(), {
    message: `Port ${redirectPort} (listen.tls.redirectPort) can't be opened (EADDRINUSE); free it, or set another.`,
  })
  await app.close()
  await t.rejects(new Promise((_, failed) => get({ port: redirectPort, host: '127.0.0.1' }).on('error', failed)))
  const refused = (listen: object) => t.rejects(startKernel(t, { config: { listen } }), { message: /redirectPort/ })
  await refused({ tls: { redirectPort: 80 } })
  await refused({ tls: { challenges: '/srv/web' } })
})

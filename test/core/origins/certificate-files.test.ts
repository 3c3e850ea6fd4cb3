// Tests with real sockets https from two files that are renewed while the server runs.
import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { openLocalAuthority } from '../../../core/origins/local-authority.ts'
import { run } from '../../bin/program.ts'
import { captureLog } from '../../kit/driver-context.ts'
import { inFull } from '../../kit/extent.ts'
import { startKernel } from '../../kit/kernel.ts'
import { freePort } from '../../kit/server.ts'
import { until } from '../../kit/until.ts'

const DAY_MS = 86_400_000
/** The lifetime of a certificate of the authority; see core/origins/local-authority.ts. */
const LIFE_DAYS = 397

/** Creates an authority in a folder, and issues its certificates. */
async function authority(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-tls-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const sign = async (daysLeft = LIFE_DAYS, hosts = ['localhost', '127.0.0.1']) => {
    const at = Date.now() - (LIFE_DAYS - daysLeft) * DAY_MS
    const opened = await openLocalAuthority({ dataDir: folder, hosts }, { now: () => new Date(at) })
    return { ...opened.certificate, ca: opened.authority.certificate }
  }
  const cert = join(folder, 'cert.pem')
  const key = join(folder, 'key.pem')
  /** Replaces the files as renewals do: writes new files, then links to them. */
  const put = (pair: { cert: string; key: string }) => {
    for (const [file, text] of [
      [cert, pair.cert],
      [key, pair.key],
    ] as const) {
      const fresh = `${file}.${Math.random()}`
      writeFileSync(fresh, text)
      symlinkSync(fresh, `${fresh}.link`)
      renameSync(`${fresh}.link`, file)
    }
  }
  return { folder, cert, key, sign, put }
}

/** Returns the serial number of a server's certificate. */
const serialAt = (port: number, ca: string) =>
  new Promise<string>((resolve, reject) => {
    const socket: TLSSocket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca }, () => {
      resolve(socket.getPeerCertificate().serialNumber)
      socket.end()
    })
    socket.on('error', reject)
  })

t.test('https from files, renewed without a restart', async (t) => {
  const { cert, key, sign, put } = await authority(t)
  const [first, second] = [await sign(), await sign()]
  put(first)
  const port = await freePort()
  const { log, lines } = captureLog()
  // The server checks the files every ten seconds.
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const app = await startKernel(t, {
    log,
    config: {
      listen: { host: '127.0.0.1', port, tls: { cert, key } },
      portal: { url: `https://localhost:${port}` },
      games: { domain: `localhost:${port}` },
    },
  })
  await app.listen({ host: '127.0.0.1', port })
  const serial = await serialAt(port, first.ca)
  const answer = await new Promise<number | undefined>((resolve, reject) => {
    get(`https://127.0.0.1:${port}/healthz`, { ca: first.ca, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode)
    }).on('error', reject)
  })
  t.equal(answer, 200)
  const plain = await fetch(`http://127.0.0.1:${port}/docs`, { headers: { host: 'localhost' }, redirect: 'manual' })
  t.match(plain.headers.get('location'), `https://localhost:${port}/docs`, 'plain http leads to https')
  t.equal(app.health.notes.get('certificate')?.state, 'ok')

  const looksUntil = (state: () => boolean | Promise<boolean>) =>
    until(async () => {
      if (await state()) return true
      mock.timers.tick(10_000)
      return false
    })
  put({ cert: second.cert, key: first.key })
  await looksUntil(() => lines().some(({ msg }) => /was not renewed: .*is not the key/.test(String(msg))))
  t.equal(await serialAt(port, first.ca), serial, 'half of a renewal changes nothing')
  const broken = '\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  put({ cert: second.cert + broken, key: second.key })
  await looksUntil(() => lines().some(({ msg }) => /was not renewed: .*can't be used for TLS/.test(String(msg))))
  t.equal(await serialAt(port, first.ca), serial, 'nor does a chain that TLS refuses')
  put(second)
  await looksUntil(async () => (await serialAt(port, first.ca)) !== serial)
  t.pass('the new certificate is shown to new connections')

  put(await sign(5))
  await looksUntil(() => app.health.notes.get('certificate')?.state === 'warning')
  t.match(app.health.notes.get('certificate')?.message, /ends in [45] days/)
})

t.test('what is no certificate stops the start, and doctor says when one ends', async (t) => {
  const { folder, cert, key, sign, put } = await authority(t)
  const config = {
    listen: { tls: { cert, key } },
    portal: { url: 'https://localhost:8080' },
    games: { domain: 'games.localhost:8080' },
  }
  const start = () => startKernel(t, { config })
  await t.rejects(start(), { message: `listen.tls.cert: ${cert} can't be read (ENOENT).` })
  const pair = await sign()
  for (const [wrong, message] of [
    [{ cert: 'text', key: pair.key }, /holds no certificate/],
    [{ cert: pair.cert, key: 'text' }, /holds no private key/],
    [{ cert: pair.cert, key: (await sign()).key }, /is not the key of the certificate/],
    [
      { cert: `${pair.cert}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`, key: pair.key },
      /listen\.tls\.cert: .* can't be used for TLS \(/,
    ],
  ] as const) {
    put(wrong)
    await t.rejects(start(), { message })
  }
  put(pair)
  await t.rejects(startKernel(t, { config: { listen: config.listen } }), { message: /portal.url: with listen.tls/ })
  await t.rejects(startKernel(t, { config: { ...config, listen: { tls: { cert } } } }), {
    message: /tls: key is missing/,
  })

  const doctor = async (pair: { cert: string; key: string }, look = 'Certificate files', tls: object = {}) => {
    put(pair)
    const listen = { tls: { ...config.listen.tls, ...tls } }
    const settings = { ...config, listen, blender: { driver: 'none' }, dataDir: './yard' }
    writeFileSync(join(folder, 'yard.yaml'), stringify(settings))
    const { stdout } = await run(t, ['doctor', '--config', 'yard.yaml', '--json'], { cwd: folder })
    const { checks } = JSON.parse(stdout) as { checks: { name: string }[] }
    return checks.find(({ name }) => name === look)
  }
  t.match(await doctor(await sign(10)), { status: 'warning', message: /ends in (9|10) days/, hint: /Renew/ })
  await inFull(t)?.test('and whether it is for the games', async (t) => {
    t.match(await doctor(pair), { status: 'failed', message: /is not for \*\.games\.localhost/ })
    t.match(await doctor(await sign(LIFE_DAYS, ['localhost', '*.games.localhost'])), {
      status: 'ok',
      message: /good for/,
    })
  })

  const redirectPort = await freePort()
  const plain = () => doctor(pair, 'Plain http', { redirectPort })
  await inFull(t)?.test('and whether plain http is answered', async (t) => {
    t.match(await plain(), { status: 'warning', message: `nothing answers on port ${redirectPort} of 127.0.0.1` })
  })
  const app = await startKernel(t, { config: { ...config, listen: { tls: { cert, key, redirectPort } } } })
  await app.httpsRedirects.listen()
  t.match(await plain(), { status: 'ok', message: `port ${redirectPort} leads to https://localhost:8080` })
})

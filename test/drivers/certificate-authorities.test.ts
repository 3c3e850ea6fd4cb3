import { execFileSync } from 'node:child_process'
import { chownSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import pg from 'pg'
import t, { type Test } from 'tap'
import redis from '../../drivers/bus/redis.ts'
import postgres from '../../drivers/database/postgres.ts'
import { takeTls } from '../../drivers/database/postgres-tls.ts'
import smtp from '../../drivers/mail/smtp.ts'
import s3 from '../../drivers/storage/s3.ts'
import { hasPrograms } from '../kit/components.ts'
import { captureLog, driverContext } from '../kit/driver-context.ts'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'
import { needsRedis, startRedis } from '../kit/redis.ts'
import { startBucketServer } from '../kit/s3rver.ts'
import { freePort } from '../kit/server.ts'
import { startSmtp } from '../kit/smtp.ts'
import { until } from '../kit/until.ts'

/** Creates a certificate for 127.0.0.1, which is its own authority. */
function createCertificate(t: Test) {
  const folder = t.testdir()
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=test', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  execFileSync('openssl', ['req', '-x509', ...curve, ...subject, '-keyout', keyFile, '-out', certFile], {
    stdio: 'ignore',
  })
  return { keyFile, certFile, key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') }
}

t.test('each service is trusted by an authority of the configuration', async (t) => {
  if (!hasPrograms(t, 'openssl')) return
  const { keyFile, certFile, key, cert } = createCertificate(t)

  await t.test('PostgreSQL', needsPostgres, async (t) => {
    const url = await (await startPostgres()).database()
    const admin = new pg.Client(url)
    await admin.connect()
    t.teardown(async () => {
      await admin.query('alter system reset all')
      await admin.query('select pg_reload_conf()')
      await admin.end()
    })
    const { rows } = await admin.query("select current_setting('data_directory') as folder")
    const { folder } = rows[0]
    for (const [name, text] of Object.entries({ 'test.key': key, 'test.crt': cert })) {
      writeFileSync(join(folder, name), text, { mode: 0o600 })
      const { uid, gid } = statSync(folder)
      chownSync(join(folder, name), uid, gid)
    }
    await admin.query("alter system set ssl_cert_file = 'test.crt'")
    await admin.query("alter system set ssl_key_file = 'test.key'")
    await admin.query('alter system set ssl = on')
    await admin.query('select pg_reload_conf()')
    await until(async () => (await admin.query('show ssl')).rows[0].ssl === 'on')

    const encrypted = async (options: object, address = url) => {
      const driver = await postgres.create({ url: address, poolSize: 2, ssl: 'off', ...options }, driverContext())
      try {
        await driver.open([])
        const [row] = await driver.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()', [])
        return (row as { ssl: unknown }).ssl
      } finally {
        await driver.close()
      }
    }
    t.equal(await encrypted({}), 0)
    t.equal(await encrypted({ ca: cert }), 1)
    t.equal(await encrypted({}, `${url}?sslmode=verify-full&sslrootcert=${certFile}`), 1)
    t.equal(await encrypted({ ssl: 'unverified' }, `${url}?sslmode=require`), 1)
    const untrusted = { name: 'StartupError', message: /self-signed certificate.*database\.ca/ }
    for (const [options, parameters] of [
      [{ ssl: 'on' }, ''],
      [{ ssl: 'on' }, '?sslmode=no-verify'],
      [{ ssl: 'unverified' }, '?sslmode=verify-full'],
      [{}, '?sslmode=require'],
    ] as const)
      await t.rejects(encrypted(options, url + parameters), untrusted, `${JSON.stringify(options)} ${parameters}`)
    for (const ssl of ['on', 'unverified'])
      await t.rejects(encrypted({ ssl }, `${url}?sslmode=disable`), { name: 'StartupError', message: /contradicts/ })
  })

  await t.test('Redis', needsRedis, async (t) => {
    const port = await freePort()
    await startRedis(t, [
      ...['--tls-port', String(port), '--tls-cert-file', certFile, '--tls-key-file', keyFile],
      ...['--tls-ca-cert-file', certFile, '--tls-auth-clients', 'no'],
    ])
    const open = (ca?: string, protocol = 'rediss') =>
      redis.create({ url: `${protocol}://127.0.0.1:${port}`, keyPrefix: '', ...(ca ? { ca } : {}) }, driverContext())
    const bus = await open(cert)
    // On a busy machine an answer may come too late.
    t.ok(
      await until(() =>
        bus.ping().then(
          () => true,
          () => false,
        ),
      ),
    )
    await bus.close()
    await t.rejects(open(), { name: 'StartupError', message: /self-signed certificate.*bus\.ca/ })
    await t.rejects(open(cert, 'redis'), { name: 'StartupError', message: /write rediss:/ })
  })

  await t.test('S3', async (t) => {
    const server = await startBucketServer(['games'])
    t.teardown(() => server.close())
    const encrypted = createServer({ key, cert }, (near) => {
      const far = connect(server.port, '127.0.0.1')
      for (const socket of [near, far]) socket.on('error', () => [near, far].map((end) => end.destroy()))
      near.pipe(far).pipe(near)
    })
    await new Promise<void>((done) => encrypted.listen(0, '127.0.0.1', done))
    t.teardown(() => encrypted.close())
    const endpoint = `https://127.0.0.1:${(encrypted.address() as AddressInfo).port}`
    const options = { ...server.access, endpoint, bucket: 'games', prefix: '' }
    const storage = await s3.create({ ...options, ca: cert }, driverContext())
    t.equal(await storage.head('absent'), null)
    await storage.close()
    await t.rejects(s3.create(options, driverContext()), {
      name: 'StartupError',
      message: /not trusted.*storage\.ca/,
    })
  })

  await t.test('SMTP', async (t) => {
    const { url, inbox } = await startSmtp(t, { startTls: true, certificate: { key, cert } })
    const from = 'yard@example.org'
    const send = async (ca: string) => {
      const { log, lines } = captureLog()
      const mail = await smtp.create({ url, from, ca }, driverContext({ log }))
      await mail.send({ to: 'ada@example.org', subject: 'Hello', text: 'Hello' }).catch(() => {})
      await mail.close()
      return lines()
    }
    await send(cert)
    t.equal(inbox.length, 1)
    const [other] = (await import('node:tls')).rootCertificates
    t.match(await send(other as string), [{ reason: /not trusted.*mail\.ca/ }], 'also of a server on this machine')
    t.equal(inbox.length, 1)
  })
})

t.test('an address without sslmode is as strict as database.ssl', async (t) => {
  const tls = (parameters: string, ssl: 'off' | 'on' | 'unverified', ca?: string) => {
    const address = new URL(`postgres://host/yard${parameters}`)
    const options = takeTls(address, { ssl, ca })
    t.equal(address.href, 'postgres://host/yard', 'nothing is left for node-postgres to prefer')
    return options
  }
  t.equal(tls('', 'off'), false)
  t.equal(tls('?sslmode=allow', 'off'), false)
  t.equal(tls('?sslmode=disable', 'off'), false)
  t.same(tls('?ssl=true', 'off'), { host: 'host', rejectUnauthorized: true })
  t.same(tls('?sslmode=no-verify', 'off'), { host: 'host', rejectUnauthorized: false })
  t.same(tls('', 'unverified'), { host: 'host', rejectUnauthorized: false })
  t.same(tls('', 'unverified', 'PEM'), { host: 'host', rejectUnauthorized: true, ca: 'PEM' })
  for (const parameters of ['?ssl=false', '?sslmode=disable'])
    t.throws(() => tls(parameters, 'off', 'PEM'), { message: /contradicts a certificate authority/ })
  t.throws(() => tls('?sslmode=verify', 'off'), { message: /sslmode=verify is unknown/ })
  t.throws(() => tls('?sslrootcert=/absent.pem', 'off'), { message: /\/absent\.pem can't be read \(ENOENT\)/ })
})

// Tests the authority of a LAN: OpenSSL and Node verify its certificates.
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../../core/clock.ts'
import { openLocalAuthority } from '../../../core/origins/local-authority.ts'

function folder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'gameyard-authority-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const HOSTS = ['192.168.1.20', 'yard.local', 'localhost', '127.0.0.1']
const openAt = (dataDir: string, hosts = HOSTS) => openLocalAuthority({ dataDir, hosts }, systemClock)

t.test('it is made once, is readable by its owner only, and signs anew for each address', async (t) => {
  const dataDir = folder(t)
  const first = await openAt(dataDir)
  const file = join(dataDir, 'keys/authority.pem')
  if (process.platform !== 'win32') t.equal(statSync(file).mode & 0o777, 0o600)
  const again = await openAt(dataDir, ['10.0.0.7', 'yard.local'])
  t.equal(again.authority.fingerprint, first.authority.fingerprint, 'the same authority after a start')
  t.not(again.certificate.cert, first.certificate.cert)
  const leaf = new X509Certificate(again.certificate.cert)
  t.ok(leaf.verify(new X509Certificate(first.authority.certificate).publicKey))
  t.equal(leaf.checkIP('10.0.0.7'), '10.0.0.7')
  t.equal(leaf.checkHost('yard.local'), 'yard.local')
  t.equal(leaf.checkIP('192.168.1.20'), undefined)
  t.notMatch(first.authority.certificate, /KEY/, 'what is given away holds no key')
  const days = (Date.parse(leaf.validTo) - Date.now()) / 86_400_000
  t.ok(days > 300 && days < 825, 'within what Apple accepts')
})

t.test('OpenSSL accepts what it signs, for local networks and nothing else', async (t) => {
  const dataDir = folder(t)
  const { authority, certificate } = await openAt(dataDir)
  const [ca, leaf, foreign] = ['ca.pem', 'leaf.pem', 'foreign.pem'].map((name) => join(dataDir, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(ca, authority.certificate)
  writeFileSync(leaf, certificate.cert)
  const verify = (...options: string[]) =>
    execFileSync('openssl', ['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', ca, ...options], {
      stdio: 'pipe',
    })
  t.match(verify('-verify_ip', '192.168.1.20', leaf).toString(), /OK/)
  t.match(verify('-verify_hostname', 'yard.local', leaf).toString(), /OK/)
  for (const host of ['bank.example', '8.8.8.8']) {
    const stranger = await openAt(dataDir, [host])
    writeFileSync(foreign, stranger.certificate.cert)
    t.throws(() => verify(foreign), /permitted subtree violation/, `not for ${host}, although it has the key`)
  }
})

t.test('one from a time when the clock was ahead, which no device accepts, is replaced with a warning', async (t) => {
  const dataDir = folder(t)
  const warnings: string[] = []
  const now = Date.now()
  const openIn = async (days: number) => {
    const clock = { now: () => new Date(now + days * 86_400_000) }
    const { authority, certificate } = await openLocalAuthority({ dataDir, hosts: HOSTS }, clock, (message) =>
      warnings.push(message),
    )
    t.ok(new X509Certificate(certificate.cert).verify(new X509Certificate(authority.certificate).publicKey))
    return new X509Certificate(authority.certificate)
  }
  const ahead = await openIn(30)
  const own = await openIn(0)
  t.not(own.fingerprint256, ahead.fingerprint256)
  t.ok(Date.parse(own.validFrom) <= now)
  t.match(warnings, [/certificate authority.*clock was ahead.*devices must trust/])
  const later = await openIn(5000)
  t.equal(later.fingerprint256, own.fingerprint256, 'one that has expired stays')
  t.equal(warnings.length, 1)
})

t.test('a damaged file stops the start with a sentence', async (t) => {
  const dataDir = folder(t)
  await openAt(dataDir)
  const file = join(dataDir, 'keys/authority.pem')
  writeFileSync(file, readFileSync(file, 'utf8').slice(0, 300))
  await t.rejects(openAt(dataDir), { name: 'StartupError', message: /authority.pem is damaged/ })
})

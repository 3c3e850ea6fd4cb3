import { createHash, X509Certificate } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { isIPv4 } from 'node:net'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import { readOrCreate } from '../data/keys.ts'
import { StartupError } from '../errors.ts'

/** The platform's own certificate authority, with the data that people need to trust it. */
export interface LocalAuthority {
  name: string
  /** PEM format. */
  certificate: string
  /** SHA-256, in pairs of hexadecimal digits. */
  fingerprint: string
  expiresAt: Date
}

/** The key and certificate of a TLS server, in PEM. */
export interface ServerCertificate {
  key: string
  cert: string
}

const DAY_MS = 24 * 3600 * 1000
const YEARS_10 = 3650
/** Validity in days. Apple's devices refuse a server certificate that is valid for longer than 825 days. */
const LEAF_DAYS = 397
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const LABEL = 'GAMEYARD AUTHORITY KEY'

/**
 * Opens the certificate authority that the first start creates in the data folder (`keys/authority.pem`, mode 0600),
 * and signs a new certificate for these names at each start.
 *
 * The authority can only sign for addresses of local networks and names that end in `.local` (name constraints, RFC
 * 5280 section 4.2.1.10). Trusting it therefore puts no other site at risk, even when its key is stolen.
 *
 * An authority that is not yet valid was made while the clock was ahead. No device accepts it, so a new one replaces it.
 *
 * @param hosts IPv4 addresses and names
 * @param warn called when the authority is replaced
 * @throws StartupError when the file is damaged
 */
export async function openLocalAuthority(
  { dataDir, hosts }: { dataDir: string; hosts: readonly string[] },
  clock: Clock,
  warn: (message: string) => void = () => {},
): Promise<{ authority: LocalAuthority; certificate: ServerCertificate }> {
  const x509 = await loadX509()
  const now = clock.now().getTime()
  const file = join(dataDir, 'keys', 'authority.pem')
  const open = async () => partsOf(await readOrCreate(file, () => makeAuthority(x509, hosts, now)), file)
  let { certificate, key } = await open()
  const { validFrom } = new X509Certificate(certificate)
  if (Date.parse(validFrom) > now) {
    await rm(file)
    ;({ certificate, key } = await open())
    warn(
      `the certificate authority was valid only from ${validFrom} on, made while the clock was ahead: there is a new one, which devices must trust`,
    )
  }
  const issuer = new x509.X509Certificate(certificate)
  const signingKey = await crypto.subtle.importKey('pkcs8', Buffer.from(key, 'base64'), ALGORITHM, false, ['sign'])
  const own = new X509Certificate(certificate)
  return {
    authority: {
      name: /CN=([^\n]+)/.exec(own.subject)?.[1] ?? 'Gameyard',
      certificate,
      fingerprint: own.fingerprint256,
      expiresAt: new Date(own.validTo),
    },
    certificate: await signFor(x509, { issuer, signingKey, hosts, now }),
  }
}

function partsOf(kept: Buffer, file: string): { certificate: string; key: string } {
  const text = kept.toString()
  const [certificate] = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n?/.exec(text) ?? []
  const [, key] = new RegExp(`-----BEGIN ${LABEL}-----([\\s\\S]+?)-----END ${LABEL}-----`).exec(text) ?? []
  if (certificate && key) return { certificate, key }
  throw new StartupError(`The file ${file} is damaged; restore it, or remove it to create a new one.`)
}

type X509 = typeof import('@peculiar/x509')

/** The dependency injection container of @peculiar/x509 needs the polyfill to be loaded first. */
async function loadX509(): Promise<X509> {
  await import('reflect-metadata')
  return import('@peculiar/x509')
}

async function makeAuthority(x509: X509, hosts: readonly string[], now: number): Promise<Buffer> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey))
  // The mark distinguishes the authorities of several jams on one phone.
  const mark = createHash('sha256').update(pkcs8).digest('hex').slice(0, 6)
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: `CN=Gameyard LAN ${mark}, O=Gameyard`,
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + YEARS_10 * DAY_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      new x509.Extension('2.5.29.30', true, nameConstraints(hosts)),
    ],
  })
  const body = pkcs8.toString('base64').replace(/(.{64})/g, '$1\n')
  return Buffer.from(`${certificate.toString('pem')}\n-----BEGIN ${LABEL}-----\n${body}\n-----END ${LABEL}-----\n`)
}

async function signFor(x509: X509, { issuer, signingKey, hosts, now }: Signing): Promise<ServerCertificate> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: `CN=${hosts[0]}`,
    issuer: issuer.subject,
    // The clock of a phone may be behind the server's.
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + LEAF_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        hosts.map((value) => ({ type: isIPv4(value) ? ('ip' as const) : ('dns' as const), value })),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  })
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  return { cert: cert.toString('pem'), key: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n` }
}

interface Signing {
  issuer: import('@peculiar/x509').X509Certificate
  signingKey: CryptoKey
  hosts: readonly string[]
  now: number
}

/** Returns a positive number with 64 random bits (CA/Browser Forum, section 7.1). */
function serialNumber(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(9))
  bytes[0] = 1
  return Buffer.from(bytes).toString('hex')
}

/** The networks of RFC 1918, link-local and loopback addresses. */
const LOCAL_NETWORKS = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '127.0.0.0/8']

/** Encodes `NameConstraints` in DER: the permitted addresses with their masks, and the permitted names. */
function nameConstraints(hosts: readonly string[]): Uint8Array<ArrayBuffer> {
  // Outside of the private networks only the machine's own address is permitted.
  const networks = [...LOCAL_NETWORKS, ...hosts.filter(isIPv4).map((address) => `${address}/32`)]
  const subtrees = [
    ...['local', 'localhost'].map((name) => der(0x30, der(0x82, Buffer.from(name)))),
    ...networks.map((network) => der(0x30, der(0x87, addressAndMask(network)))),
  ]
  return new Uint8Array(der(0x30, der(0xa0, Buffer.concat(subtrees))))
}

function addressAndMask(network: string): Buffer {
  const [address = '', bits = '32'] = network.split('/')
  const mask = Buffer.alloc(4)
  mask.writeUInt32BE((0xffffffff << (32 - Number(bits))) >>> 0)
  return Buffer.concat([Buffer.from(address.split('.').map(Number)), mask])
}

/** Encodes a DER value: tag, length, content. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  const head =
    length < 0x80 ? [tag, length] : length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from(head), content])
}

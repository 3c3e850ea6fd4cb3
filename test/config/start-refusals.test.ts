// `config check` knows every rule about the configuration that a start knows: each refusal of the source is tried, or said to
// be about the machine or a program.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { checkStart } from '../../bin/commands/config.ts'
import { registerPlugins } from '../../core/boot/plugins.ts'
import { systemClock } from '../../core/clock.ts'
import { StartupError } from '../../core/errors.ts'
import { createLog } from '../../core/observe/log.ts'
import { CertificateFiles } from '../../core/origins/certificate-files.ts'
import { plugins } from '../../plugins/index.ts'
import { load } from './kit.ts'

const root = resolve(import.meta.dirname, '../..')
const BAD = 'https://yard.example:99999'
const games = { domain: 'games.example' }
const provider = { clientId: 'id', clientSecret: 'secret' }
const pack = { id: 'large', credits: 100, price: 99950, currency: 'isk' }
const smtp = { driver: 'smtp', url: 'smtp://mail.example', from: 'yard@example.org' }
const postgres = (url: string, more = {}) => ({ database: { driver: 'postgres', url, ...more } })
const stripe = { driver: 'stripe', secretKey: 'sk_test_1', webhookSecret: 'whsec_123456' }
const files = { 'cert.pem': 'none', 'key.pem': 'none' }
const tls = (cert: string, key: string) => ({
  listen: { tls: { cert, key } },
  portal: { url: 'https://yard.example' },
  games,
})

/** Configurations that no platform can start with, and the sentence about them. `source` has the rule. */
const refused: { source: string; config: object; says: RegExp }[] = [
  { source: 'config/validate.ts', config: { portal: { url: BAD }, games }, says: /^portal\.url: .* is no web address/ },
  { source: 'config/validate.ts', config: { portal: { url: 'https://[::1' }, games }, says: /^portal\.url: / },
  { source: 'config/validate.ts', config: { portal: { formerUrls: [BAD] } }, says: /^portal\.formerUrls\[0\]: / },
  {
    source: 'config/validate.ts',
    config: { blender: { driver: 'docker', url: BAD, image: 'x' } },
    says: /^blender\.url: /,
  },
  { source: 'config/validate.ts', config: { telemetry: { endpoint: BAD } }, says: /^telemetry\.endpoint: / },
  {
    source: 'config/validate.ts',
    config: { auth: { providers: { own: { ...provider, issuer: BAD } } } },
    says: /^auth\.providers\.own\.issuer: /,
  },
  { source: 'config/validate.ts', config: { mail: { ...smtp, ca: 'no certificate' } }, says: /^mail\.ca: expected/ },
  {
    source: 'config/rules.ts',
    config: { games: { domain: 'localhost:99999' } },
    says: /^games: localhost:99999 is no domain/,
  },
  ...['dataDir', 'listen.tls.challenges', 'backup.to'].map((key) => ({
    source: 'config/rules.ts',
    config: key.split('.').reduceRight<object | string>((value, name) => ({ [name]: value }), '~/yard') as object,
    says: new RegExp(`^${key}: ~/yard is not in your home folder; write the whole path: /.*/yard`),
  })),
  { source: 'config/rules.ts', config: { games: { formerDomains: ['a..b'] } }, says: /^games: a\.\.b is no domain/ },
  {
    source: 'plugins/oauth-idp/config-rules.ts',
    config: { auth: { providers: { own: provider } } },
    says: /^auth\.providers\.own: give the issuer/,
  },
  {
    source: 'plugins/oauth-idp/config-rules.ts',
    config: { auth: { signUpChallenge: 'work' }, portal: { url: 'http://yard.example' }, games },
    says: /^auth\.signUpChallenge: work needs/,
  },
  {
    source: 'plugins/domains/dns.ts',
    config: { plugins: { domains: { resolvers: ['1.1.1.1:99999'] } } },
    says: /^plugins\.domains\.resolvers: 1\.1\.1\.1:99999 is no address/,
  },
  {
    source: 'drivers/payments/stripe.ts',
    config: { payments: { ...stripe, packs: [pack] } },
    says: /ISK only in multiples/,
  },
  { source: 'drivers/mail/smtp.ts', config: { mail: { ...smtp, url: 'http://mail' } }, says: /^mail\.url is no SMTP/ },
  { source: 'drivers/mail/smtp.ts', config: { mail: { ...smtp, from: 'yard' } }, says: /^mail\.from is no sender/ },
  {
    source: 'drivers/bus/redis.ts',
    config: { bus: { driver: 'redis', url: 'http://a' } },
    says: /^bus\.url is no Redis/,
  },
  {
    source: 'drivers/bus/redis.ts',
    config: {
      bus: { driver: 'redis', url: 'redis://a', ca: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----' },
    },
    says: /^bus\.ca is for a connection by TLS/,
  },
  {
    source: 'drivers/database/postgres.ts',
    config: postgres('http://db/yard'),
    says: /^database\.url is not of the form/,
  },
  {
    source: 'drivers/database/postgres.ts',
    config: postgres('postgres://db/%zz'),
    says: /^database\.url is not of the form/,
  },
  {
    source: 'drivers/database/postgres-tls.ts',
    config: postgres('postgres://db/yard?sslmode=disable', { ssl: 'on' }),
    says: /^database\.url has sslmode=disable/,
  },
  {
    source: 'drivers/database/postgres-tls.ts',
    config: postgres('postgres://db/yard?sslmode=no'),
    says: /sslmode=no is unknown/,
  },
  {
    source: 'drivers/database/postgres-tls.ts',
    config: postgres('postgres://db/yard?sslmode=verify-full&sslrootcert=/none'),
    says: /^sslrootcert in database\.url: \/none can't be read/,
  },
  {
    source: 'core/boot/drivers.ts',
    config: postgres('postgres://db/yard'),
    says: /^Several machines can share this database/,
  },
  {
    source: 'config/rules.ts',
    config: { lan: { enabled: true, address: '127.0.0.1' }, listen: { tls: { cert: 'cert.pem', key: 'key.pem' } } },
    says: /listen\.tls: in the LAN mode .* use --https/,
  },
  {
    source: 'core/origins/certificate-files.ts',
    config: tls('absent.pem', 'key.pem'),
    says: /^listen\.tls\.cert: .* can't be read/,
  },
  {
    source: 'core/origins/certificate-files.ts',
    config: tls('cert.pem', 'key.pem'),
    says: /^listen\.tls\.cert: .* holds no certificate/,
  },
]

/** What the other refusals of a start are about. */
const ELSEWHERE: Record<string, string> = {
  'core/data/': 'the data folder, the clock, and a database that exists',
  'core/http/https-redirects.ts': 'a port that another program has',
  'core/http/': 'the routes of a plugin',
  'core/origins/certificate-files.ts':
    'files, which one function checks in both cases; two of its refusals are tried above',
  'core/origins/game-ports.ts': 'a port that another program has',
  'core/origins/local-authority.ts': 'a damaged file of the data folder',
  'core/pages/browser-files.ts': 'a program that was not built',
  'core/plugin.ts': 'plugins that contradict each other; `config check` says it, too',
  'core/boot/drivers.ts': 'a secret that is missing, which is tried above',
  'drivers/bus/': 'a Redis server, or the path of a socket',
  'drivers/database/postgres': 'a server',
  'drivers/database/sqlite.ts': 'a file',
  'drivers/storage/': 'a bucket, or a folder',
}

const messageOf = (error: unknown) => (error as Error).message.replace(/^gameyard\.yaml(:\d+){0,2} +/, '')

/** Reads and checks a configuration, as `config check` does. @returns the refusal */
async function refusalOf(t: Test, config: object): Promise<string | null> {
  try {
    await checkStart(await load(t, stringify(config), { plugins, files }))
    return null
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    return messageOf(error)
  }
}

t.test('what a start refuses, config check refuses with the same sentence', async (t) => {
  for (const { config, says } of refused) t.match(await refusalOf(t, config), says)
  t.equal(
    await refusalOf(t, { ...postgres('postgres://db/yard'), secret: 'one that is long enough for anybody' }),
    null,
  )
})

t.test('and a start that was not checked refuses it, too', async (t) => {
  const { config } = await load(
    t,
    stringify({ auth: { providers: { own: { ...provider, issuer: BAD.slice(0, -6) } } } }),
    { plugins },
  )
  const own = (config as unknown as { auth: { providers: { own: { issuer?: string } } } }).auth.providers.own
  delete own.issuer
  await t.rejects(registerPlugins({} as never, plugins, config), { message: /^auth\.providers\.own: give the issuer/ })
  const { config: https } = await load(t, stringify(tls('cert.pem', 'key.pem')), { plugins, files })
  await t.rejects(CertificateFiles.open(https.listen.tls, { log: createLog('silent'), clock: systemClock }), {
    message: /holds no certificate/,
  })
})

t.test('every refusal of the source is one of these, or is not about the configuration', async (t) => {
  const sources = ['core', 'plugins', 'drivers'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  )
  const refusing = sources.filter((path) => /\.ts$/.test(path) && !/conformance/.test(path))
  for (const path of refusing) {
    const found = readFileSync(join(root, path), 'utf8').match(/new StartupError\(/g)?.length ?? 0
    if (found === 0) continue
    const tried = refused.filter(({ source }) => source === path).length
    const elsewhere = Object.keys(ELSEWHERE).some((prefix) => path.startsWith(prefix))
    if (!elsewhere || path.startsWith('plugins/'))
      t.ok(tried >= found, `${path}: ${found} refusals, ${tried} are tried here`)
  }
})

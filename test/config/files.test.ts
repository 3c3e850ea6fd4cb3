import { readdirSync, readFileSync } from 'node:fs'
import type { NetworkInterfaceInfo } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import Type from 'typebox'
import { parse } from 'yaml'
import { initialConfig } from '../../config/init.ts'
import { maskSecrets, printConfig } from '../../config/print.ts'
import { families } from '../../drivers/index.ts'
import { plugins } from '../../plugins/index.ts'
import { load } from './kit.ts'

const folder = join(import.meta.dirname, '../../config/files')
const SECRETS: Record<string, string> = {
  secret: 'a secret that is long enough for it',
  'database-url': 'postgres://gameyard:pass-word@db.example.org/gameyard',
  'redis-url': 'redis://redis.example.org:6379',
  's3-secret': 's3-secret-key',
}

/** Returns a ready-made file whose secrets are in a folder that a test can write. */
function readyMade(name: string) {
  const text = readFileSync(join(folder, `${name}.yaml`), 'utf8').replaceAll('/run/secrets/gameyard-', './')
  return { text, setup: { files: SECRETS, plugins } }
}

t.test('every ready-made file is known here', async (t) => {
  t.strictSame(readdirSync(folder).sort(), ['cluster.yaml', 'lan-jam.yaml', 'single-server.yaml'])
})

t.test('lan-jam.yaml loads: everything on one machine, reachable from the others', async (t) => {
  const { text, setup } = readyMade('lan-jam')
  const wifi = { address: '192.168.1.20', family: 'IPv4', internal: false } as NetworkInterfaceInfo
  const { config, problems, drivers } = await load(t, text, { ...setup, networks: { wlan0: [wifi] } })
  t.match(problems, [{ severity: 'warning', message: /puts every game on the name of the portal/ }], 'and warns')
  t.equal(problems.length, 1)
  t.match(config, { listen: { host: '192.168.1.20' }, studio: { url: config.portal.url }, games: { origins: 'port' } })
  t.match(drivers, {
    database: { driver: { name: 'sqlite' } },
    storage: { driver: { name: 'local' } },
    bus: { driver: { name: 'local' } },
  })
})

t.test('single-server.yaml loads: https by a proxy on the machine', async (t) => {
  const { text, setup } = readyMade('single-server')
  const { config, problems } = await load(t, text, setup)
  t.strictSame(problems, [])
  t.match(config, { listen: { host: '127.0.0.1' }, trustProxy: ['127.0.0.1', '::1'], portal: { url: /^https:/ } })
})

t.test('cluster.yaml loads: what nodes share is shared', async (t) => {
  const { text, setup } = readyMade('cluster')
  const { config, problems, drivers } = await load(t, text, setup)
  t.strictSame(problems, [])
  t.equal(config.secret, SECRETS.secret)
  t.match(drivers, {
    database: { driver: { name: 'postgres' }, config: { url: SECRETS['database-url'] } },
    storage: { driver: { name: 's3' }, config: { secretAccessKey: 's3-secret-key' } },
    bus: { driver: { name: 'redis' }, config: { url: SECRETS['redis-url'] } },
  })
})

t.test('what init writes loads clean and is the defaults', async (t) => {
  const written = await initialConfig(families, plugins)
  const fresh = await load(t, written, { plugins })
  const defaults = await load(t, null, { plugins })
  t.strictSame(fresh.problems, [])
  t.strictSame({ ...fresh.config, dataDir: null }, { ...defaults.config, dataDir: null })
})

t.test('what init comments out is right too, but for the choice between drivers', async (t) => {
  const [own] = (await initialConfig(families, plugins)).split('# Instead of ') as [string]
  const [, ...sections] = own.split('\n\n')
  const everything = sections.join('\n\n').replace(/^# ( *[\w-]+:)/gm, '$1')
  const keys = Object.keys(parse(everything))
  for (const section of ['listen', 'secret', 'portal', 'games', 'database', 'limits']) t.ok(keys.includes(section))
  const env = { NAME: 'a secret that is long enough for it' }
  const { config } = await load(t, everything, { plugins, env })
  t.match(config, { secret: env.NAME, metrics: { token: env.NAME }, limits: { requestsPerMinute: 600 } })
})

t.test('printing shows what is in effect and no secret', async (t) => {
  const { text, setup } = readyMade('cluster')
  const { config, schema } = await load(t, text, { ...setup, env: { SERVICE_LISTEN__PORT: '9000' } })
  const printed = printConfig(config, schema)
  t.match(parse(printed), {
    listen: { port: 9000 },
    limits: { shutdownSeconds: 10 },
    secret: '********',
    storage: { secretAccessKey: '********' },
  })
  for (const secret of Object.values(SECRETS)) t.notOk(printed.includes(secret), 'a secret is masked')
})

t.test('secrets are masked in lists, open mappings and choices, and passwords in addresses', async (t) => {
  const secret = Type.String({ secret: true })
  const schema = Type.Object({
    providers: Type.Record(Type.String(), Type.Object({ id: Type.String(), secret })),
    keys: Type.Array(secret),
    either: Type.Union([
      Type.Object({ kind: Type.Literal('a'), token: secret }),
      Type.Object({ kind: Type.Literal('b') }),
    ]),
    proxy: Type.String(),
  })
  const value = {
    providers: { github: { id: 'me', secret: 's1' } },
    keys: ['s2', 's3'],
    either: { kind: 'a', token: 's4' },
    proxy: 'http://user:s5@proxy.example.org:8080/x',
  }
  t.strictSame(maskSecrets(value, schema), {
    providers: { github: { id: 'me', secret: '********' } },
    keys: ['********', '********'],
    either: { kind: 'a', token: '********' },
    proxy: 'http://user:********@proxy.example.org:8080/x',
  })
})

import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../config/load.ts'
import { families } from '../../drivers/index.ts'
import { complaints, folderWith, load } from './kit.ts'

t.test('a variable overrides any key, the file gives way, an option overrides both', async (t) => {
  const text = 'listen: { host: 0.0.0.0, port: 1000 }\nlog: { level: warn }\n'
  const env = {
    SERVICE_LISTEN__PORT: '2000',
    SERVICE_LIMITS__REQUESTS_PER_MINUTE: '7',
    SERVICE_TRUST_PROXY: '[10.0.0.1]',
  }
  const { config } = await load(t, text, { env })
  t.match(config, { listen: { host: '0.0.0.0', port: 2000 }, log: { level: 'warn' }, trustProxy: ['10.0.0.1'] })
  t.equal(config.limits.requestsPerMinute, 7)

  const overrides = [{ source: '--port', path: ['listen', 'port'], value: 3000 }]
  t.equal((await load(t, text, { env, overrides })).config.listen.port, 3000)
})

t.test('a variable chooses a driver and sets its keys', async (t) => {
  const { drivers, config } = await load(t, 'storage: { driver: local }\n', {
    env: {
      SERVICE_STORAGE__DRIVER: 's3',
      SERVICE_STORAGE__BUCKET: 'games',
      SERVICE_STORAGE__ACCESS_KEY_ID: '0123456789',
      SERVICE_STORAGE__SECRET_ACCESS_KEY: '9876543210',
      SERVICE_STORAGE__FORCE_PATH_STYLE: 'true',
    },
  })
  t.equal(drivers.storage?.driver.name, 's3')
  t.match(drivers.storage?.config, {
    bucket: 'games',
    accessKeyId: '0123456789', // The schema requires text here, even if all characters are digits.
    secretAccessKey: '9876543210',
    forcePathStyle: true,
    region: 'us-east-1',
  })
  t.notOk(Object.hasOwn(drivers.storage?.config as object, 'driver'))
  t.match(config.storage, { driver: 's3', bucket: 'games' })
})

t.test('a variable that nearly matches a key is an error, a foreign one is ignored with a warning', async (t) => {
  const foreign = {
    SERVICE_WHATEVER_ELSE_ENTIRELY: '1',
    SERVICE_FQDN_GAMEYARD: 'yard.example',
    SERVICE_FQDN_GAMEYARD_8080: 'yard.example:8080',
    SERVICE_URL_GAMEYARD: 'https://yard.example',
    SERVICE_URL_APP: 'https://yard.example',
    SERVICE_USER_POSTGRES: 'yard',
    SERVICE_PASSWORD_64_POSTGRES: 'x',
    SERVICE_BASE64_64_SECRET: 'x',
    SERVICE_NAME_APP: 'yard',
  }
  const env = {
    SERVICE_LISTN__PORT: '1',
    SERVICE_LISTEN_PORT: '1',
    SERVICE_STORAGE: '{ driver: s3 }',
    SERVICE_LISTEN__HOST: '::1',
  }
  t.strictSame(await complaints(t, null, { env }), [
    'SERVICE_LISTN__PORT matches no key of the configuration, did you mean SERVICE_LISTEN__PORT?',
    'SERVICE_LISTEN_PORT matches no key of the configuration, did you mean SERVICE_LISTEN__PORT?',
    'SERVICE_STORAGE names a whole section; set its keys one by one, as SERVICE_STORAGE__…',
  ])
  const { problems } = await load(t, null, { env: foreign })
  t.strictSame(
    problems.map(({ severity, message }) => `${severity}: ${message}`),
    Object.keys(foreign).map((name) => `warning: ${name} matches no key of the configuration, and is ignored`),
  )
})

t.test('an empty variable is not set, and # begins no comment', async (t) => {
  const text = 'listen: { port: 1000 }\n'
  const env = {
    SERVICE_LISTEN__PORT: '',
    SERVICE_DATABASE__DRIVER: '',
    SERVICE_FQDN_GAMEYARD: '',
    SERVICE_BACKUP__TO: './copies #1',
    SERVICE_PORTAL__NAME: 'Yard #1 # the first',
  }
  const { config, problems } = await load(t, text, { env })
  t.match(config, {
    listen: { port: 1000 },
    database: { driver: 'sqlite' },
    backup: { to: './copies #1' },
    portal: { name: 'Yard #1 # the first' },
  })
  t.same(problems, [])
  t.match(await complaints(t, null, { env: { SERVICE_LISTEN__PORT: '8080 # the usual one' } }), [
    'SERVICE_LISTEN__PORT  listen.port: expected a whole number from 0 to 65535, found "8080 # the usual one"',
  ])
})

t.test('a wrong value says which variable it came from', async (t) => {
  const env = { SERVICE_LISTEN__PORT: 'many', SERVICE_DATABASE__DRIVER: 'postgress' }
  t.strictSame(await complaints(t, 'listen: { port: 1 }\n', { env }), [
    'SERVICE_DATABASE__DRIVER  database.driver: `postgress` is neither built in (sqlite, postgres) nor an installed package, did you mean `postgres`?',
    'SERVICE_LISTEN__PORT  listen.port: expected a whole number from 0 to 65535, found "many"',
  ])
  t.match(await complaints(t, null, { env: { SERVICE_LISTEN__PORT: '[1' } }), [
    /^SERVICE_LISTEN__PORT is no YAML value: /,
  ])
})

t.test("the command line client's and the adapter's variables are nobody's keys", async (t) => {
  const names = ['API_TOKEN', 'BASE_URL', 'CLIENT_ID', 'CLIENT_SECRET', 'SESSION_SECRET', 'REDIRECT_URI']
  const env = Object.fromEntries(names.map((name) => [`SERVICE_${name}`, 'x']))
  t.strictSame(await complaints(t, null, { env }), [])
})

t.test('SERVICE_CONFIG names the file, paths in it are relative to its folder, --config goes before it', async (t) => {
  const cwd = folderWith(t, { 'a.yaml': 'portal: { name: A }\n', 'b.yaml': 'portal: { name: B }\n' })
  const options = { cwd: '/', env: { SERVICE_CONFIG: join(cwd, 'a.yaml') }, families, plugins: [] }
  const { config, configDir } = await loadConfig(options)
  t.equal(config.portal.name, 'A')
  t.equal(configDir, cwd)
  t.equal(config.dataDir, join(cwd, 'data'))
  t.equal((await loadConfig({ ...options, file: join(cwd, 'b.yaml') })).config.portal.name, 'B')
})

const SECRET = 'a secret that is long enough for it'

t.test('a secret comes from a file beside the configuration or from the environment', async (t) => {
  const files = { 'secret.txt': `${SECRET}\n` }
  const fromFile = await load(t, 'secret: { file: secret.txt }\n', { files })
  t.equal(fromFile.config.secret, SECRET)
  t.strictSame(fromFile.problems, [])
  const fromEnv = await load(t, 'secret: { env: MY_SECRET }\n', { env: { MY_SECRET: SECRET } })
  t.equal(fromEnv.config.secret, SECRET)
  const direct = await load(t, null, { env: { SERVICE_SECRET: SECRET } })
  t.equal(direct.config.secret, SECRET)
  const pointed = await load(t, null, { files, env: { SERVICE_SECRET: '{ file: secret.txt }' } })
  t.equal(pointed.config.secret, SECRET)
})

t.test("a driver's secret can be pointed to as well", async (t) => {
  const text = 'database:\n  driver: postgres\n  url: { env: DATABASE_URL }\n'
  const { drivers } = await load(t, text, { env: { DATABASE_URL: 'postgres://a:b@localhost/c' } })
  t.match(drivers.database?.config, { url: 'postgres://a:b@localhost/c' })
})

t.test('a secret that is not where it should be is an error that says so', async (t) => {
  t.strictSame(await complaints(t, 'secret: { env: MY_SECRET }\n'), [
    'gameyard.yaml:1:9  secret: the environment variable MY_SECRET is not set',
  ])
  t.strictSame(await complaints(t, 'secret: { env: MY_SECRET }\n', { env: { MY_SECRET: '' } }), [
    'gameyard.yaml:1:9  secret: the environment variable MY_SECRET is empty',
  ])
  t.match(await complaints(t, 'secret: { file: nope }\n'), [/nope can't be read \(there is no such file\)$/])
  t.match(await complaints(t, 'secret: { file: empty }\n', { files: { empty: '\n' } }), [/empty is empty$/])
  t.match(await complaints(t, 'secret: { vault: x }\n'), [/expected the secret itself, `\{ file: /])
  t.match(await complaints(t, 'secret: {}\n'), [/expected the secret itself/])
  t.strictSame(await complaints(t, 'secret: { file: short }\n', { files: { short: 'hunter2\n' } }), [
    'gameyard.yaml:1:9  secret: expected text of 32 or more characters, found 7 characters',
  ])
})

t.test('a secret file that everyone can read is a warning', async (t) => {
  const cwd = folderWith(t, { 'gameyard.yaml': 'secret: { file: open }\n', open: SECRET })
  chmodSync(join(cwd, 'open'), 0o644)
  const { problems } = await loadConfig({ cwd, env: {}, families, plugins: [] })
  t.match(problems, [{ severity: 'warning', key: 'secret', message: /everyone on this machine can read .*chmod o-r/ }])
  t.equal(problems.length, 1)
})

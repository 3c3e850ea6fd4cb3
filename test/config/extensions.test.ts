import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import Type from 'typebox'
import { EXTENSION_MODULES } from '../../bin/extension-modules.ts'
import { loadConfig } from '../../config/load.ts'
import { manifestFaults } from '../../config/manifest.ts'
import { RESERVED_NAMES } from '../../core/boot/reserved-names.ts'
import { StartupError } from '../../core/errors.ts'
import { definePlugin, sectionsOf } from '../../core/plugin.ts'
import { families } from '../../drivers/index.ts'
import { plugins as builtins } from '../../plugins/index.ts'
import { startKernel } from '../kit/kernel.ts'
import { complaints, folderWith, load } from './kit.ts'

const number = (fallback: number) => Type.Integer({ default: fallback })
const chat = definePlugin(
  { name: 'chat', config: Type.Object({ rooms: number(3) }), limits: { messagesPerSecond: number(20) } },
  async () => {},
)
const sign = definePlugin(
  { name: 'sign-in', section: 'auth', config: Type.Object({ guests: Type.Boolean({ default: false }) }) },
  async () => {},
)
const plugins = [chat, sign]

const source = (what: 'plugin' | 'driver', declaration: string) => {
  const url = pathToFileURL(join(import.meta.dirname, `../../core/${what}.ts`)).href
  const define = what === 'plugin' ? 'definePlugin' : 'defineDriver'
  return `import { ${define} } from ${JSON.stringify(url)}\nexport default ${define}(${declaration})\n`
}
const guestbook = (name = 'guestbook') =>
  source(
    'plugin',
    `{ name: '${name}', config: { type: 'object', properties: { lines: { type: 'integer', default: 9 } }, required: ['lines'] } }, async () => {}`,
  )

t.test("a plugin's settings stand under plugins, or in the section it names; its limits under limits", async (t) => {
  const text = 'auth: { guests: true }\nplugins: { chat: { rooms: 5 } }\nlimits: { messagesPerSecond: 1 }\n'
  const { config, plugins: enabled } = await load(t, text, { plugins })
  t.match(config, { auth: { guests: true }, plugins: { chat: { rooms: 5 } }, limits: { messagesPerSecond: 1 } })
  t.strictSame(enabled, plugins)
  t.match((await load(t, '', { plugins })).config, {
    auth: { guests: false },
    plugins: { chat: { rooms: 3 } },
    limits: { messagesPerSecond: 20, shutdownSeconds: 10 },
  })
})

t.test('a plugin may have further sections of its own words, and no two the same', async (t) => {
  const asks = Type.Object({ asks: Type.Boolean({ default: true }) }, { default: {} })
  const manifest = { name: 'asking', section: 'auth', sections: { oauth: asks } }
  const asking = definePlugin(manifest, async () => {})
  t.match((await load(t, '', { plugins: [asking] })).config, { auth: {}, oauth: { asks: true } })
  const { config } = await load(t, 'oauth: { asks: false }\n', { plugins: [asking] })
  t.match(config, { oauth: { asks: false } })
  t.same(sectionsOf(asking, config), { oauth: { asks: false } })
  t.match(await complaints(t, 'oauth: { ask: false }\n', { plugins: [asking] }), [/did you mean `asks`\?/])
  const other = definePlugin({ name: 'other', section: 'oauth', config: asks }, async () => {})
  await t.rejects(load(t, '', { plugins: [asking, other] }), /`oauth` is claimed by both the plugin asking and/)
})

t.test('false turns a plugin off, in the file or by a variable; true leaves it on', async (t) => {
  t.strictSame((await load(t, 'plugins: { chat: false, sign-in: true }\n', { plugins })).plugins, [sign])
  const env = { SERVICE_PLUGINS__CHAT: 'true', SERVICE_PLUGINS__SIGN_IN: 'false' }
  t.strictSame((await load(t, 'plugins: { chat: false }\n', { plugins, env })).plugins, [chat])
})

t.test('mistakes in plugins are found like any other', async (t) => {
  t.match(await complaints(t, 'plugins: { chat: { room: 5 } }\n', { plugins }), [
    /1:20 .*unknown key `room` in plugins\.chat, did you mean `rooms`\?/,
  ])
  t.match(await complaints(t, 'plugins: { chta: false }\n', { plugins }), [
    /1:12 .*plugins\.chta: there is no built-in plugin and no installed package of this name, did you mean `chat`\?/,
  ])
  t.match(await complaints(t, 'plugins: { sign-in: { guests: true } }\n', { plugins }), [
    /unknown key `guests` in plugins\.sign-in/,
  ])
  t.match(await complaints(t, 'limits: { messagePerSecond: 5 }\n', { plugins }), [/did you mean `messagesPerSecond`\?/])
})

t.test('a path under plugins adds the plugin in that file, with its settings', async (t) => {
  const files = { 'guestbook.ts': guestbook() }
  const { config, plugins: enabled } = await load(t, 'plugins: { ./guestbook.ts: { lines: 4 } }\n', { plugins, files })
  t.strictSame(
    enabled.map(({ name }) => name),
    ['chat', 'sign-in', 'guestbook'],
  )
  t.match(config.plugins, { guestbook: { lines: 4 } })
  t.match(await complaints(t, 'plugins:\n  ./guestbook.ts: { lines: four }\n', { plugins, files }), [
    /^gameyard\.yaml:2:28 {2}plugins\.guestbook\.lines: expected a whole number, found "four"$/,
  ])
})

t.test('a package beside the configuration adds a plugin or a driver, even one that is only for import', async (t) => {
  const cwd = folderWith(t, {
    'gameyard.yaml': 'plugins: { "@acme/guestbook": true }\nbus: { driver: acme-bus, topic: x }\n',
  })
  const driver = `{ family: 'bus', name: 'acme', config: { type: 'object', properties: { topic: { type: 'string' } } }, create: async () => ({}) }`
  for (const [name, text] of [
    ['@acme/guestbook', guestbook()],
    ['acme-bus', source('driver', driver)],
  ] as const) {
    const folder = join(cwd, 'node_modules', name)
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({ name, type: 'module', exports: { import: './index.js' } }),
    )
    writeFileSync(join(folder, 'index.js'), text)
  }
  const { config, plugins: enabled, drivers } = await loadConfig({ cwd, env: {}, families, plugins: [] })
  t.match(enabled, [{ name: 'guestbook' }])
  t.match(config.plugins, { guestbook: { lines: 9 } })
  t.match(drivers.bus, { driver: { name: 'acme' }, config: { topic: 'x' } })
})

t.test('a module that is not what it should be says so', async (t) => {
  const files = {
    'guestbook.ts': guestbook(),
    'chat.ts': guestbook('chat'),
    'nothing.js': 'export const name = "x"\n',
    'broken.js': 'throw new Error("no luck")\n',
    'bus.ts': source('driver', `{ family: 'bus', name: 'x', config: { type: 'object' }, create: async () => ({}) }`),
  }
  const says = (text: string) => complaints(t, text, { plugins, files })
  t.match(await says('plugins: { ./nothing.js: true }\n'), [
    /plugins\.\.\/nothing\.js: does not default-export what definePlugin/,
  ])
  t.match(await says('plugins: { ./broken.js: true }\n'), [/\.\/broken\.js can't be loaded: no luck/])
  t.match(await says('plugins: { ./absent.js: true }\n'), [/there is no file \.\/absent\.js/])
  t.match(await says('plugins: { ./chat.ts: true }\n'), [/there is another plugin called chat/])
  t.match(await says('storage: { driver: ./bus.ts }\n'), [/\.\/bus\.ts is a driver for bus, not for storage/])
  t.match(await says('storage: { driver: ./guestbook.ts }\n'), [
    /\.\/guestbook\.ts does not default-export what defineDriver/,
  ])
  t.match(await says('storage: { driver: ./absent.ts }\n'), [/there is no file \.\/absent\.ts/])
})

t.test('two owners of one section or one limit stop the start, both named', async (t) => {
  const twin = definePlugin({ name: 'twin', section: 'auth' }, async () => {})
  const greedy = definePlugin({ name: 'greedy', limits: { messagesPerSecond: number(1) } }, async () => {})
  const bold = definePlugin({ name: 'bold', section: 'storage' }, async () => {})
  const rejects = (extra: typeof twin, message: RegExp) =>
    t.rejects(load(t, '', { plugins: [...plugins, extra] }), { constructor: StartupError, message })
  await rejects(twin, /section `auth` is claimed by both the plugin sign-in and the plugin twin/)
  await rejects(greedy, /limit `messagesPerSecond` is claimed by both the plugin chat and the plugin greedy/)
  await rejects(bold, /section `storage` is claimed by both the driver family storage and the plugin bold/)
})

t.test('what the program provides to plugins and drivers is what the package exports to servers', (t) => {
  const { exports } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  const elsewhere = /\/conformance|^\.\/(?:multiplayer|room|saves|package\.json)$/
  const names = Object.keys(exports).filter((name) => !elsewhere.test(name))
  const expected = [...names.map((name) => name.replace('.', 'gameyard')), 'typebox']
  t.same(Object.keys(EXTENSION_MODULES).sort(), expected.sort())
  t.end()
})

/** What `definePlugin` returns for a manifest, with nothing checked. */
const declared = (manifest: string) => source('plugin', `${manifest}, async () => {}`)

t.test('a manifest that breaks the contract is refused, with the property and what it must be', async (t) => {
  const cases: [manifest: string, says: RegExp][] = [
    [`{ name: 'Bad Name' }`, /`name` must be lower-case words joined by `-`/],
    [`{ name: 'mail' }`, /`name` must not be `mail`, which is a family of drivers/],
    [`{ name: 'database' }`, /`name` must not be `database`, which is a family of drivers/],
    [`{ name: 'events' }`, /`name` must not be `events`, which the platform itself uses/],
    [`{ name: 'chat' }`, /there is another plugin called chat/],
    [`{ name: 'x', dependencies: 'games' }`, /`dependencies` must be a list of names of plugins/],
    [`{ name: 'x', config: { title: { type: 'string' } } }`, /`config` must be Type\.Object\(/],
    [`{ name: 'x', config: undefined }`, /`config` must be Type\.Object\(/],
    [
      `{ name: 'x', limits: { type: 'object', properties: {} } }`,
      /`limits` must be a schema with a default for each name/,
    ],
    [`{ name: 'x', limits: { size: { type: 'integer' } } }`, /`limits` must be a schema with a default for each name/],
    [`{ name: 'x', sections: { sign: 1 } }`, /`sections` must be \{ name: Type\.Object/],
    [`{ name: 'x', check: true }`, /`check` must be a function/],
    [`{ name: 'x', entities: [{ tableName: 'notes' }] }`, /`entities` must be a list of entities/],
    [
      `{ name: 'x', migrations: [{ name: '2026_11_21_x', postgres: [] }] }`,
      /`sqlite` of 2026_11_21_x must be a list of/,
    ],
    [
      `{ name: 'x', migrations: [{ name: '2026_11_21_x', sqlite: [] }] }`,
      /`postgres` of 2026_11_21_x must be a list of/,
    ],
    [
      `{ name: 'x', migrations: [{ name: 'first', sqlite: [], postgres: [] }] }`,
      /`migrations\[0\]\.name` must be a date/,
    ],
    [`{ name: 'x', limit: {} }`, /a plugin has no property `limit`, did you mean `limits`\?/],
  ]
  for (const [manifest, says] of cases) {
    const files = { 'x.ts': declared(manifest) }
    const found = await complaints(t, 'plugins: { ./x.ts: true }\n', { plugins, files })
    t.match(found, [says], manifest)
    t.match(found, [/^gameyard\.yaml:1:12 {2}plugins\.\.\/x\.ts: /], 'with its place')
  }
  const unregistered = { 'x.ts': source('plugin', `{ name: 'x' }`) }
  t.match(await complaints(t, 'plugins: { ./x.ts: true }\n', { plugins, files: unregistered }), [
    /`register` must be a function, after the manifest/,
  ])
  const needy = { 'x.ts': declared(`{ name: 'x', dependencies: ['rooms'] }`) }
  await t.rejects(load(t, 'plugins: { ./x.ts: true }\n', { plugins, files: needy }), {
    constructor: StartupError,
    message: 'The plugin x needs the plugin rooms, which is not there; add it or turn x off.',
  })
  await t.rejects(load(t, 'plugins: { scores: false }\n', { plugins: builtins }), {
    message: /^The plugin \S+ needs the plugin scores, which is turned off; turn it on or turn \S+ off\.$/,
  })
})

t.test('so is a driver that breaks its contract', async (t) => {
  const cases: [declaration: string, says: RegExp][] = [
    ['config: {}, create: async () => ({})', /\.\/x\.ts: `config` must be Type\.Object\(/],
    ["config: { type: 'object' }, create: {}", /\.\/x\.ts: `create` must be a function/],
    ["config: { type: 'object' }, create: async () => ({}), check: 1", /\.\/x\.ts: `check` must be a function/],
    ['create: async () => ({})', /does not default-export what defineDriver/],
    [
      "config: { type: 'object' }, create: async () => ({}), check: () => null.no",
      /bus: its check fails: .*null.* \(\S+\/x\.ts:2:\d+\)$/,
    ],
  ]
  for (const [declaration, says] of cases) {
    const files = { 'x.ts': source('driver', `{ family: 'bus', name: 'x', ${declaration} }`) }
    t.match(await complaints(t, 'bus: { driver: ./x.ts }\n', { files }), [says], declaration)
  }
})

t.test('the built-in plugins keep the contract of plugins', async (t) => {
  t.ok((await load(t, '', { plugins: builtins })).plugins.length > 20)
})

t.test('no added plugin may have a name that Fastify or the kernel uses on the app', async (t) => {
  const app = await startKernel(t)
  const names = new Set<string>()
  for (let object = app as object; object !== Object.prototype; object = Object.getPrototypeOf(object))
    for (const name of Object.getOwnPropertyNames(object)) if (/^[a-z][a-z0-9]*$/.test(name)) names.add(name)
  const plugin = (name: string) => definePlugin({ name }, async () => {})
  const familyNames = families.map(({ name }) => name)
  for (const name of names) t.not(manifestFaults(plugin(name), familyNames).length, 0, name)
  for (const name of RESERVED_NAMES) t.ok(name in app, `${name} is used`)
})

t.test('an added plugin is turned off like a built-in one, and is then still known', async (t) => {
  const files = { 'ok-plugin.ts': declared(`{ name: 'ok-plugin' }`), 'broken.js': 'throw new Error("no luck")\n' }
  const off = (text: string, env: Record<string, string> = {}) => load(t, text, { plugins, files, env })
  for (const loaded of [
    await off('plugins: { ./ok-plugin.ts: false }\n'),
    await off('plugins: { ./ok-plugin.ts: true }\n', { SERVICE_PLUGINS__OK_PLUGIN: 'false' }),
  ]) {
    t.strictSame(loaded.plugins, plugins)
    t.match(loaded.disabled, [{ name: 'ok-plugin', module: { name: './ok-plugin.ts' } }])
  }
  const on = await off('plugins: { ./ok-plugin.ts: false }\n', { SERVICE_PLUGINS__OK_PLUGIN: 'true' })
  t.match(on.plugins.at(-1), { name: 'ok-plugin' })
  t.strictSame((await off('plugins: { chat: false }\n')).disabled, [chat])

  for (const name of ['./broken.js', './absent.js', '"@acme/gone"']) {
    const { plugins: enabled, problems } = await off(`plugins: { ${name}: false }\n`)
    t.strictSame(enabled, plugins, `${name} does not keep the platform from starting`)
    t.match(problems, [{ severity: 'warning', message: /is off, and its tables stay as they are: / }])
  }
})

t.test('what the module of a plugin or a driver throws is reported with its place', async (t) => {
  const files = {
    'error.ts': 'const x: number = 1\n\nthrow new Error("no luck " + x)\n',
    'text.ts': "throw 'no luck'\n",
    'nothing.ts': 'throw null\n',
    'syntax.ts': 'const x = 1\nconst y = = 2\n',
    'enum.ts': 'const x = 1\nenum Mood { Good }\n',
    'package.json': '{ "type": "module" }',
  }
  const cases: [file: string, says: RegExp][] = [
    ['error.ts', /\.\/error\.ts can't be loaded: no luck 1 \(\S+\/error\.ts:3:7\)$/],
    ['text.ts', /\.\/text\.ts can't be loaded: it throws 'no luck'$/],
    ['nothing.ts', /\.\/nothing\.ts can't be loaded: it throws null$/],
    ['syntax.ts', /\.\/syntax\.ts can't be loaded: .*\(\S+\/syntax\.ts:2\)$/],
    ['enum.ts', /\.\/enum\.ts can't be loaded: .*\(\S+\/enum\.ts:2\)$/],
  ]
  for (const [file, says] of cases) {
    t.match(await complaints(t, `plugins: { ./${file}: true }\n`, { plugins, files }), [says], file)
    t.match(await complaints(t, `bus: { driver: ./${file} }\n`, { plugins, files }), [says], `${file} as a driver`)
  }
  const check = 'check: () => { throw new TypeError("not so") }'
  t.match(
    await complaints(t, 'plugins: { ./x.ts: true }\n', { files: { 'x.ts': declared(`{ name: 'x', ${check} }`) } }),
    [/plugins\.x: its check fails: not so \(\S+\/x\.ts:2:\d+\)$/],
  )
})

t.test('an own driver of the family ai serves its other sections, too', async (t) => {
  const ai = `{ family: 'ai', name: 'own', config: { type: 'object', properties: {} }, create: async () => ({}) }`
  const files = { 'own.ts': source('driver', ai), 'bus.ts': source('driver', ai.replace("'ai'", "'bus'")) }
  for (const section of ['ai', 'aiObject', 'aiImage']) {
    const { drivers } = await load(t, `${section}: { driver: ./own.ts }\n`, { files })
    t.match(drivers[section], { driver: { name: 'own' } })
    t.match(await complaints(t, `${section}: { driver: ./bus.ts }\n`, { files }), [
      /\.\/bus\.ts is a driver for bus, not for ai$/,
    ])
  }
})

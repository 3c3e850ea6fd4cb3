import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import Type from 'typebox'
import { EXTENSION_MODULES } from '../../bin/extension-modules.ts'
import { loadConfig } from '../../config/load.ts'
import { StartupError } from '../../core/errors.ts'
import { definePlugin, sectionsOf } from '../../core/plugin.ts'
import { families } from '../../drivers/index.ts'
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

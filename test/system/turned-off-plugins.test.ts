// A host may turn off every built-in plugin that no other plugin needs, alone or with the others.
import t, { type Test } from 'tap'
import { plugins } from '../../plugins/index.ts'
import { startKernel } from '../kit/kernel.ts'

const needed = new Set(plugins.flatMap(({ dependencies }) => dependencies))
const optional = plugins.map(({ name }) => name).filter((name) => !needed.has(name))
const PAGES = ['/', '/games', '/sign-in', '/docs/api', '/openapi.json', '/settings', '/assets', '/ai', '/readyz']

async function startWithout(t: Test, names: string[]): Promise<void> {
  const off = Object.fromEntries(names.map((name) => [name, false]))
  const app = await startKernel(t, { plugins, config: { blender: { driver: 'none' }, plugins: off } })
  for (const name of names) t.notOk(app.hasPlugin(name), `${name} is off`)
  for (const url of PAGES) {
    const { statusCode } = await app.inject({ url, headers: { host: 'localhost:8080', accept: 'text/html' } })
    t.ok(statusCode < 500, `${url}: ${statusCode}`)
  }
}

t.ok(optional.length > 5)
for (const name of optional) t.test(`the platform works without the plugin ${name}`, (t) => startWithout(t, [name]))
t.test('the platform works without any of them', (t) => startWithout(t, optional))

// A plugin that the configuration adds, on a real server: it fails, and it is turned off, removed and added again.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run, temporaryFolder } from '../bin/program.ts'
import { freePort, startServer } from '../kit/server.ts'
import { ask } from '../kit/upload.ts'

/** A plugin with one table and one route, that counts its visits. */
const VISITS = `import { definePlugin } from 'gameyard/plugin'

const statements = ['create table visits (id integer primary key)']
export default definePlugin(
  { name: 'visits', migrations: [{ name: '2026_11_21_visits', sqlite: statements, postgres: statements }] },
  async (app) => {
    app.get('/visit', { config: { auth: 'none' }, constraints: { origin: 'portal' } }, async () => {
      await app.db.execute('insert into visits (id) select count(*) from visits')
      return app.db.query('select count(*) as count from visits')
    })
  },
)
`

t.test('a plugin that was started once can be turned off, removed and added again', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'visits.js'), VISITS)
  const starts = async (
    plugins: Record<string, boolean>,
    check: (portal: string) => Promise<unknown> = async () => {},
  ) => {
    const server = await startServer(t, { folder, config: { plugins } })
    await check(server.portal)
    t.equal(await server.stop(), 0)
    return server.output()
  }
  const visit = async (portal: string) => (await ask('GET', `${portal}/visit`)).body
  const doctor = async () => (await run(t, ['doctor'], { cwd: folder })).stdout

  await starts({ './visits.js': true }, async (portal) => t.match(await visit(portal), [{ count: 1 }]))
  await starts({ './visits.js': false, jam: false }, async (portal) => {
    t.equal((await ask('GET', `${portal}/visit`)).status, 404)
    t.equal((await ask('GET', `${portal}/jam`)).status, 404)
  })
  t.match(await doctor(), /Update +the database is up to date/)
  await starts({ './visits.js': true }, async (portal) => t.match(await visit(portal), [{ count: 2 }]))

  rmSync(join(folder, 'visits.js'))
  t.match(await starts({ './visits.js': false }), /visits\.js is off, and its tables stay as they are/)
  t.match(await starts({}), /tables of the plugin visits, which the configuration does not add any more/)
  t.match(await doctor(), /Plugins +the database has tables of the plugin visits/)

  writeFileSync(join(folder, 'visits.js'), VISITS)
  await starts({ './visits.js': true }, async (portal) => t.match(await visit(portal), [{ count: 3 }]))
})

t.test('a plugin that fails at the start is named, with the place, and nothing else fails', async (t) => {
  const cases: [body: string, says: RegExp][] = [
    [
      "async () => {\n  throw new Error('no luck.')\n}",
      /^The plugin failing \(\.\/failing\.js\) can't be started: no luck \(\S+failing\.js:4:9\)$/,
    ],
    [
      "async (app) => {\n  app.addHook('onReady', async () => JSON.parse('{'))\n}",
      /^The plugin failing \(\.\/failing\.js\) can't be started: .* \(\S+failing\.js:4:\d+\)$/,
    ],
    ["async () => {\n  throw 'text'\n}", /^The plugin failing \(\.\/failing\.js\) can't be started: it throws 'text'$/],
    [
      "async (app) => {\n  app.get('/x', async () => 'x')\n}",
      /^The plugin failing \(\.\/failing\.js\) can't be started: The route GET(,HEAD)? \/x has no `auth`.* \(\S+failing\.js:4:\d+\)$/,
    ],
  ]
  for (const [body, says] of cases) {
    const cwd = temporaryFolder(t)
    writeFileSync(join(cwd, 'package.json'), '{ "type": "module" }')
    writeFileSync(
      join(cwd, 'failing.js'),
      `import { definePlugin } from 'gameyard/plugin'\n\nexport default definePlugin({ name: 'failing' }, ${body})\n`,
    )
    writeFileSync(join(cwd, 'gameyard.yaml'), 'plugins: { ./failing.js: true }\n')
    const { code, stdout, stderr } = await run(t, ['serve', '--port', String(await freePort())], { cwd })
    t.equal(code, 1)
    t.match(stderr.trim(), says)
    const warned = stdout.split('\n').filter((line) => /"level":"(warn|error)"/.test(line))
    t.same(warned, [], body)
  }
})

// Yards as earlier versions left them, opened by this one. `npm run upgrade-fixture` keeps one for each release.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { ALL } from '../kit/extent.ts'
import { PASSWORD, PlayerClient, startPlatform } from '../kit/platform.ts'
import { until } from '../kit/until.ts'
import { assertCountsHold } from '../plugins/quotas/recounting.ts'

const root = resolve(import.meta.dirname, '../..')
const fixtures = join(root, 'test/fixtures/upgrades')
const names = readdirSync(fixtures).sort()
const MAKER = { name: 'Maker', email: 'maker@example.org', password: PASSWORD }

/** A data folder as that version left it. */
function dataFolder(t: Test, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-yard-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  cpSync(join(fixtures, name, 'blobs'), join(dataDir, 'blobs'), { recursive: true })
  const database = new DatabaseSync(join(dataDir, 'gameyard.db'))
  database.exec('pragma foreign_keys = off')
  database.exec(readFileSync(join(fixtures, name, 'yard.sql'), 'utf8'))
  t.same(database.prepare('pragma foreign_key_check').all(), [])
  database.close()
  return dataDir
}

/** Tables with their columns, and indexes, whatever order they came in. */
function schemaOf(file: string): string[] {
  const database = new DatabaseSync(file, { readOnly: true })
  const columns = database
    .prepare(
      `select t.name || '.' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || coalesce(c.dflt_value, '') || ' ' || c.pk as line
       from sqlite_master t join pragma_table_info(t.name) c where t.type = 'table' and t.name not like 'sqlite_%'`,
    )
    .all()
  const indexes = database
    .prepare("select name || ' on ' || tbl_name as line from sqlite_master where type = 'index' and sql is not null")
    .all()
  database.close()
  return [...columns, ...indexes].map(({ line }) => String(line)).sort()
}

const pathOf = (url: string | undefined) => {
  const { pathname, search } = new URL(url as string)
  return pathname + search
}

t.test('every release has a fixture', async (t) => {
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  for (const [, version] of changelog.matchAll(/^## v?(\d+\.\d+\.\d+\S*)/gm))
    t.ok(names.includes(version as string), `npm run upgrade-fixture -- ${version}`)
  t.ok(names.length > 0)
})

for (const name of ALL ? names : names.slice(0, 1)) {
  t.test(`the platform of ${name} goes on`, async (t) => {
    const dataDir = dataFolder(t, name)
    const config = { dataDir, database: { driver: 'sqlite' } }
    const fresh = mkdtempSync(join(tmpdir(), 'gameyard-yard-'))
    t.teardown(() => rmSync(fresh, { recursive: true, force: true }))
    await startPlatform(t, { config: { ...config, dataDir: fresh } })
    // At another address than it was made at.
    const platform = await startPlatform(t, { listen: true, config })
    t.same(
      schemaOf(join(dataDir, 'gameyard.db')),
      schemaOf(join(fresh, 'gameyard.db')),
      'what was released once is what the migrations still make; of an unreleased one, run npm run upgrade-fixture again',
    )
    const before = schemaOf(join(dataDir, 'gameyard.db')).length
    const copies = existsSync(join(dataDir, 'backups')) ? readdirSync(join(dataDir, 'backups')) : []
    for (const copy of copies) t.ok(schemaOf(join(dataDir, 'backups', copy)).length < before, `${copy} is as it was`)

    // What was stored before there were counts is counted soon after the start.
    const [owner] = await platform.app.db.query<{ id: string }>('select id from players where email = ?', [MAKER.email])
    await until(async () => (await platform.app.quotas.bytesByKind(owner?.id as string)).length > 0)
    await assertCountsHold(t, platform.app, 'an upgraded platform has counted what it stores')

    // The clock of a test begins before the platform did.
    platform.clock.advance(60 * 86_400_000)
    const maker = new PlayerClient(platform.app, MAKER)
    const { email, password } = MAKER
    t.equal((await maker.post('/api/auth/sign-in', { email, password })).status, 200)
    const host = platform.gameHost('pong')
    t.match((await maker.get('/', { host, headers: { accept: 'text/html' } })).text, /<title>Pong<\/title>/)
    const started = await maker.get('/auth/service/start', { host })
    const authorized = await maker.get(pathOf(started.headers.location))
    t.equal((await maker.get(pathOf(authorized.headers.location), { host })).status, 302)
    t.match((await maker.get('/auth/service/session', { host })).body, { signedIn: true, user: { name: 'Maker' } })

    const program = await platform.program(maker)
    const { body } = await program.get('/api/games')
    t.match(body.games ?? body.items ?? body, [{ slug: 'pong' }])
    t.equal((await program.post('/api/games', { title: 'Next', description: 'A game.' })).status, 201)
    for (const path of ['/catalog', '/games/pong', '/games/pong/overview', '/settings'])
      t.equal((await maker.get(path, { headers: { accept: 'text/html' } })).status, 200, path)
  })
}

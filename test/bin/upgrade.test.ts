// Tests a program with the database of the previous version, and the way back.
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { inFull } from '../kit/extent.ts'
import { freePort } from '../kit/server.ts'
import { run, start, temporaryFolder } from './program.ts'

/** The migration that the previous version lacked. */
const LATEST = '2026_11_23_addresses'

async function serve(t: Test, cwd: string) {
  const server = start(t, ['serve', '--port', String(await freePort()), '--data', 'data'], { cwd })
  await server.says('"ready"')
  return server
}

async function startAndStop(t: Test, cwd: string): Promise<void> {
  const server = await serve(t, cwd)
  server.process.kill('SIGTERM')
  t.match(await server.ended, { code: 0 })
}

/** Changes the database to the state that the previous version left. */
function age(cwd: string): void {
  const database = new DatabaseSync(join(cwd, 'data', 'gameyard.db'))
  database.exec('alter table oauth_apps drop column served_uris; alter table passkeys drop column rp_id')
  database.exec(`delete from schema_migrations where name = '${LATEST}'`)
  database.close()
}

function has(file: string): boolean {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return database.prepare('select name from schema_migrations where name = ?').get(LATEST) !== undefined
  } finally {
    database.close()
  }
}

const copies = (cwd: string) => readdirSync(join(cwd, 'data', 'backups')).filter((name) => name.startsWith('before-'))

t.test('a database is copied before it is migrated, and the copy is the way back', async (t) => {
  const cwd = temporaryFolder(t)
  const at = (...path: string[]) => join(cwd, 'data', ...path)
  await startAndStop(t, cwd)
  t.notOk(readdirSync(at()).includes('backups'), 'a new one has nothing to go back to')
  age(cwd)

  const told = await run(t, ['doctor', '--json', '--data', 'data'], { cwd })
  t.match(
    told.stdout,
    /a start brings the database from \d+\.\d+\.\d+ to \d+\.\d+\.\d+, by 1 step, after a copy into [^"]*backups/,
  )

  await startAndStop(t, cwd)
  const [copy = ''] = copies(cwd)
  t.match(copy, /^before-\d+\.\d+\.\d+-from-\d+\.\d+\.\d+-\d{8}T\d{6}Z\.db$/)
  t.notOk(has(at('backups', copy)), 'as the version before had it')
  t.ok(has(at('gameyard.db')))
  const back = ['restore', '--database', at('backups', copy), '--data', 'data']
  const server = await serve(t, cwd)
  t.same(copies(cwd), [copy], 'where nothing is migrated nothing is copied')
  t.match(await run(t, back, { cwd }), { code: 1, stderr: /is served by process/ }, 'never under a running server')
  server.process.kill('SIGTERM')
  await server.ended
  await inFull(t)?.test('a file that is no database is refused', async (t) => {
    writeFileSync(join(cwd, 'no.db'), 'not a database')
    const bad = ['restore', '--database', join(cwd, 'no.db'), '--data', 'data']
    t.match(await run(t, bad, { cwd }), { code: 1, stderr: /no database to go back to.*Nothing was changed/ })
    t.match(await run(t, ['restore', '--data', 'data'], { cwd }), { code: 2 })
    t.ok(has(at('gameyard.db')))
  })
  t.match(await run(t, back, { cwd }), { code: 0, stdout: /is as it was in .*The one that was there is .*replaced-/ })
  t.notOk(has(at('gameyard.db')))
  const [replaced = ''] = readdirSync(at('backups')).filter((name) => name.startsWith('replaced-'))
  t.ok(has(at('backups', replaced)), 'and nothing is lost')

  inFull(t)?.test('three copies are kept', async (t) => {
    for (const day of ['01', '02', '03', '04'])
      writeFileSync(at('backups', `before-0.10.0-202501${day}T000000Z.db`), '')
    await startAndStop(t, cwd)
    const kept = copies(cwd)
    t.equal(kept.length, 3)
    t.ok(kept.includes(copy) && kept.includes('before-0.10.0-20250104T000000Z.db'), kept.join(' '))
  })
})

t.test('a migration that there is no room to copy for does not begin', async (t) => {
  const { backUpBeforeMigration } = await import('../../core/data/backups/migration-backup.ts')
  const dataDir = temporaryFolder(t)
  const driver = {
    shared: false,
    query: async () => [{ bytes: 1e18 }],
    backup: async () => t.fail('nothing is copied'),
  } as never
  const clock = { now: () => new Date() } as never
  await t.rejects(
    backUpBeforeMigration({ driver, dataDir, version: '9.9.9', clock, log: { info: () => {} } }),
    /^Error: There is no room for the copy of the database.* are needed\. Make room there; nothing was changed\.$|There is no room/,
  )
  t.same(readdirSync(join(dataDir, 'backups')), [])
})

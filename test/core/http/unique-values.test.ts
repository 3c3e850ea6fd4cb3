// A value that must be unique and is there already is no error of the server, whatever made the statement.
import t, { type Test } from 'tap'
import { KeyRotationRow } from '../../../core/data/key-rings.ts'
import { definePlugin } from '../../../core/plugin.ts'
import { inFull } from '../../kit/extent.ts'
import { startKernel } from '../../kit/kernel.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'

const makers = definePlugin({ name: 'makers' }, async (app) => {
  const config = { auth: 'none' } as const
  const constraints = { origin: 'portal' } as const
  const row = () => ({ keyGroup: 'none', salt: 'x', immediate: false, rotatedAt: app.clock.now() })
  const sql = 'insert into key_rotations (id, key_group, salt, immediate, rotated_at) values (?, ?, ?, ?, ?)'
  const values = () => ['statement', 'none', 'x', false, app.clock.now()]
  app.post('/by/manager', { config, constraints }, async () => {
    await app.db.transaction((em) => em.insert(KeyRotationRow, { id: 'manager', ...row() }))
    return {}
  })
  app.post('/by/statement', { config, constraints }, async () => ({ rows: await app.db.execute(sql, values()) }))
  app.post('/by/group', { config, constraints }, async () => ({
    rows: await app.db.groupCommit((statements) => statements.execute(sql, ['group', ...values().slice(1)])),
  }))
})

async function makeTwice(t: Test, config?: Record<string, unknown>) {
  const app = await startKernel(t, { plugins: [makers], ...(config ? { config } : {}) })
  for (const by of ['manager', 'statement', 'group']) {
    const headers = { host: new URL(app.origins.portal).host }
    const make = () => app.inject({ method: 'POST', url: `/by/${by}`, headers })
    t.equal((await make()).statusCode, 200, by)
    const again = await make()
    t.equal(again.statusCode, 409, `${by}: ${again.body}`)
    t.equal(again.json().error.code, 'conflict')
  }
}

t.test('a second row with a unique value is answered with 409', (t) => makeTwice(t))
inFull(t)?.test('the same on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  await makeTwice(t, { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' })
})

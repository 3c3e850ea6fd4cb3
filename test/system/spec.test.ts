// The specification, row by row: every path, method, status and field of its tables, over raw HTTP on a real socket.
import t from 'tap'
import { startPlatform } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { ai } from './spec/ai.ts'
import { games } from './spec/games.ts'
import { identity } from './spec/identity.ts'
import { limited, memory } from './spec/memory.ts'
import { payments } from './spec/payments.ts'
import { PENDING, ROWS } from './spec/rows.ts'
import { studio } from './spec/studio.ts'
import { expiry } from './spec/time.ts'
import { unset } from './spec/unset.ts'
import { World } from './spec/world.ts'

const rows = Object.entries(ROWS).flatMap(([table, names]) => names.map((name) => `${table} / ${name}`))
const cases = { ...identity, ...games, ...ai, ...payments, ...studio, ...memory }
/** Cases that need a platform of their own. */
const apart = { ...unset, ...expiry, ...limited }

t.test('every row has a case, and every case is a row', async (t) => {
  const written = [...Object.keys(cases), ...Object.keys(apart)]
  t.same(
    rows.filter((row) => !written.includes(row) && !(row in PENDING)),
    [],
    'rows without a case',
  )
  t.same(
    written.filter((name) => !rows.includes(name)),
    [],
    'cases without a row',
  )
  t.equal(new Set(written).size, written.length, 'none twice')
  const { app } = await startPlatform(t)
  const routes = new Set(app.routeTable.entries.map(({ method, url }) => `${method} ${url}`))
  for (const [row, route] of Object.entries(PENDING)) {
    t.ok(rows.includes(row), row)
    t.notOk(routes.has(route), `${route} is there: take “${row}” off the list of pending rows and write its case`)
  }
})

t.test('the tables', { timeout: timeLimit(420) }, async (t) => {
  const world = await World.start(t)
  for (const [name, run] of Object.entries(cases)) await t.test(name, { timeout: timeLimit(240) }, (t) => run(t, world))
})

for (const [name, run] of Object.entries(apart)) t.test(name, run)

// What callers make up for a list: cursors that it did not give, and searches without a word. On both databases.
import t, { type Test } from 'tap'
import type { RouteEntry } from '../../core/http/routes.ts'
import { type Client, startPlatform } from '../kit/platform.ts'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'
import { form } from '../plugins/assets/kit.ts'
import { sheet } from '../plugins/assets/models.ts'
import { deploy } from '../plugins/game-edge/kit.ts'

/** A platform with an entry in most lists, and its administrator, who may read all of them. */
async function settle(t: Test, database: Record<string, unknown>) {
  const platform = await startPlatform(t, { config: { secret: 'a secret of the lists, long enough', ...database } })
  const admin = await platform.admin()
  const program = await platform.program(admin)
  const game = await platform.game(admin, { title: 'Pong', tags: ['ball'] })
  await deploy(platform, program, game.id, { 'index.html': '<h1>Pong</h1>' })
  await program.put(`/api/games/${game.id}/boards/fastest`, { title: 'Fastest' })
  const { payload, headers } = form(await sheet(2), { title: 'Crate', visibility: 'public' })
  await program.post('/api/assets', payload, { headers })
  // A stream that goes on for ever would be waited for: each says how things are, and ends.
  platform.app.eventStreams.close()
  const things: Record<string, string> = {
    id: game.id,
    gameId: game.id,
    slug: game.slug,
    board: 'fastest',
    boardId: 'fastest',
  }
  /** Asks a route as somebody whom it takes. */
  const ask = ({ url, origin, accepts }: RouteEntry, query: string) => {
    const isPlayer = url.startsWith('/players/')
    const path = url.replace(/:(\w+)/g, (_, name) => (isPlayer && name === 'id' ? admin.id : (things[name] ?? name)))
    const client: Client = accepts.length === 0 ? platform.stranger : accepts.includes('session') ? admin : program
    return client.get(`${path}?${query}`, origin === 'game' ? { host: platform.gameHost(game.slug) } : {})
  }
  const listsWith = (field: string) =>
    platform.app.routeTable.entries.filter(({ method, schema }) => {
      const { properties = {} } = (schema.querystring ?? {}) as { properties?: object }
      return method === 'GET' && field in properties
    })
  return { ask, listsWith }
}

/** Ids of nothing that has a list, and cursors of other lists. */
const CURSORS = ['a"b', '-1', '1e3', '9999999999.gam_x', `zzz_${'0'.repeat(26)}`, `gam_${'0'.repeat(25)}`, 'gam_01%25']
const SIGNS = ['%', '_', "'", '--', '%%', '\\', '*', '"', ';', '(', '^', '😀', '% _']

async function tryLists(t: Test, database: Record<string, unknown>) {
  const { ask, listsWith } = await settle(t, database)
  const lists = listsWith('cursor')
  t.ok(lists.length > 25, 'lists')
  for (const list of lists) {
    // The ids of rooms, which players choose, are the cursors of their list.
    for (const cursor of list.url === '/mp/rooms' ? ['a"b', 'a b', 'x'.repeat(65)] : CURSORS) {
      const { status, body, text } = await ask(list, `cursor=${encodeURIComponent(cursor)}`)
      t.equal(status, 400, `${list.url} ${cursor}`)
      if (!list.page) t.match(body, { error: { code: 'invalid_request', details: [{ path: 'cursor' }] } }, list.url)
      else t.ok(/cursor/i.test(text), `${list.url}: what is wrong`)
    }
    t.equal((await ask(list, '')).status, 200, `${list.url}: its first page`)
  }
  const searches = listsWith('q')
  t.ok(searches.length > 8, 'searches')
  for (const search of searches) {
    for (const signs of SIGNS) {
      const { status, text } = await ask(search, `q=${encodeURIComponent(signs)}`)
      t.equal(status, 200, `${search.url} ${signs}`)
      t.notOk(/Pong|Crate|admin@example/.test(text), `${search.url} ${signs} finds nothing`)
    }
  }
}

t.test('made-up cursors and searches for signs', (t) => tryLists(t, {}))

t.test('the same on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  await tryLists(t, { database: { driver: 'postgres', url } })
})

// The number of statements that answer a request does not grow with the rows that it shows.
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import type { Database, Parameter } from '../../core/data/database.ts'
import type { RouteEntry } from '../../core/http/routes.ts'
import { multiplyRows } from '../kit/multiply-rows.ts'
import { inhabit, type World } from './access/world.ts'

/** Routes with a statement for each of some rows, and why that is well. */
const BY_ROW: Record<string, string> = {
  '/settings/export': 'It is a stream, and has a part of it in memory.',
  '/api/usage': 'One manifest is in memory at a time, and 40,000 files in all are examined.',
  '/settings/storage': 'As /api/usage.',
  '/games/:slug': 'It shows the first entries of at most three boards.',
}

/** The number of copies of each row. */
const TIMES = 5

/** Notes the texts of the statements that read, until the test ends. A query in a loop has the same text each time. */
function noteStatements(t: Test): string[] {
  const texts: string[] = []
  const { prototype } = Object.getPrototypeOf(new Sqlite(':memory:').prepare('select 1')).constructor
  for (const name of ['all', 'get', 'iterate'] as const) {
    const original = prototype[name]
    prototype[name] = function (this: { source: string }, ...values: unknown[]) {
      texts.push(this.source)
      return original.apply(this, values)
    }
    t.teardown(() => {
      prototype[name] = original
    })
  }
  return texts
}

/** Rows of tables that are empty in the world. Columns that are not given have any value. */
function rowsOf({ owner }: World, { otherId, board, now }: { otherId: string; board: string; now: number }) {
  const playerId = owner.browser.id
  const [own, shown] = [owner.game.id, owner.published?.gameId ?? '']
  const later = now + 1e9
  const date = new Date(now).toISOString().slice(0, 10)
  const jam = { categories: '[{"id":"overall","title":"Overall"}]', revealed: 1 }
  const rows: [table: string, row: Record<string, Parameter>][] = [
    ['audit', { actor_id: otherId, action: 'game.suspend', target_kind: 'game', target_id: shown }],
    ['reports', { target_kind: 'game', target_id: shown, owner_id: playerId, reporter_id: otherId, state: 'open' }],
    ['report_decisions', { target_kind: 'game', target_id: shown, owner_id: playerId, actor_id: otherId }],
    ['staff_messages', { player_id: playerId }],
    ['jams', { id: 'jam_0', ...jam }],
    ['jams', { id: 'jam_1', ...jam }],
    ['jams', { id: 'jam_2', ...jam }],
    ['jam_entries', { jam_id: 'jam_2', game_id: shown }],
    ['jam_votes', { jam_id: 'jam_2', category_id: 'overall', voter_id: otherId, game_id: shown }],
    ['game_members', { game_id: own, player_id: otherId, role: 'maker' }],
    ['game_invitations', { game_id: own, role: 'maker', expires_at: later, invited_by: playerId }],
    ['game_domains', { game_id: shown, name: 'play.example.org' }],
    ['game_remixes', { game_id: own, source_game_id: shown, source_owner_id: playerId }],
    ['game_presence', { game_id: shown, seen_at: later }],
    ['game_days', { game_id: shown, date }],
    ['oauth_consents', { player_id: playerId, client_id: owner.application.clientId, asked: '[]' }],
    ['oauth_sign_ins', { client_id: owner.application.clientId, date, player_id: playerId }],
    ['credit_ledger', { player_id: playerId, kind: 'grant' }],
    ['credit_purchases', { player_id: playerId, paid_at: now }],
    ['ai_generations', { player_id: playerId, game_id: own, type: 'text', date }],
    ['ai_allowances', { player_id: playerId, game_id: own }],
    ['one_time_tokens', { purpose: 'invite', data: '{"note":"x"}', expires_at: later }],
    ['room_records', { id: 'lobby', game_id: own, snapshot: '{}' }],
    ['game_errors', { game_id: own, count: 1, first_at: now, last_at: now }],
    ['passkeys', { player_id: playerId }],
    ['upstream_accounts', { provider: 'github', player_id: playerId }],
    ['quota_overrides', { owner_id: playerId, limits: '{}' }],
    ['score_exclusions', { board, player_id: otherId }],
    ['asset_licenses', { license: 'MIT', asset_id: owner.published?.assetId ?? '' }],
  ]
  return rows
}

/** Inserts a row. A column that must have a value, and is not given, gets the time or a text. */
async function insert(db: Database, table: string, row: Record<string, Parameter>, now: number) {
  const columns = await db.query<{ name: string; type: string; required: number }>(
    `select name, type, "notnull" as required from pragma_table_info('${table}') where dflt_value is null`,
  )
  const missing = columns.filter(({ name, required }) => required === 1 && !(name in row))
  const whole = {
    ...Object.fromEntries(missing.map(({ name, type }) => [name, /text|char/.test(type) ? 'x' : now])),
    ...row,
  }
  const names = Object.keys(whole)
  await db.execute(
    `insert into ${table} (${names.map((name) => `"${name}"`).join(', ')}) values (${names.map(() => '?').join(', ')})`,
    Object.values(whole),
  )
}

/** The columns that differ between the copies of a row. A row that names another one names a copy of that. */
const KEYS: Record<string, readonly string[]> = {
  ai_allowances: ['game_id'],
  ai_generations: ['id', 'game_id'],
  api_tokens: ['id', 'token_hash'],
  asset_licenses: ['asset_id'],
  audit: ['id', 'actor_id', 'target_id'],
  background_jobs: ['id', 'key'],
  blender_generations: ['id'],
  blender_jobs: ['id'],
  blender_workers: ['id'],
  credit_ledger: ['id', 'key'],
  credit_purchases: ['id'],
  deploys: ['id'],
  draft_files: ['path'],
  game_activity: ['id', 'player_id'],
  game_days: ['game_id'],
  game_domains: ['id', 'name', 'game_id'],
  game_errors: ['id', 'fingerprint'],
  game_invitations: ['id'],
  game_members: ['player_id'],
  game_presence: ['game_id'],
  game_remixes: ['game_id'],
  jam_entries: ['game_id'],
  jam_votes: ['voter_id', 'game_id'],
  jams: ['id'],
  oauth_apps: ['id', 'client_id'],
  oauth_consents: ['client_id', 'id'],
  oauth_sign_ins: ['client_id'],
  one_time_tokens: ['id', 'token_hash'],
  passkeys: ['id'],
  players: ['id', 'email'],
  quota_overrides: ['owner_id'],
  quota_stored_bytes: ['owner_id'],
  report_decisions: ['id', 'target_id', 'actor_id'],
  reports: ['id', 'target_id', 'owner_id', 'reporter_id', 'open_key'],
  room_records: ['id'],
  save_usage: ['game_id'],
  save_versions: ['version'],
  saves: ['game_id'],
  score_boards: ['key', 'id'],
  score_entries: ['player_id'],
  score_exclusions: ['player_id'],
  sessions: ['id', 'token_hash'],
  staff_messages: ['id'],
  upstream_accounts: ['subject'],
}

/** Copies the rows of the world. Private things keep their owner, so that the lists of the owner grow; others don't. */
async function multiply({ platform: { app }, owner }: World) {
  const things: [table: string, id: string, keys: readonly string[]][] = [
    ['games', owner.game.id, ['id', 'slug', 'client_id']],
    ['games', owner.published?.gameId ?? '', ['id', 'slug', 'client_id', 'owner_id']],
    ['assets', owner.assetId, ['id', 'slug']],
    ['assets', owner.published?.assetId ?? '', ['id', 'slug', 'owner_id']],
  ]
  for (const [table, id, keys] of things)
    await multiplyRows(app.db, { table, keys, where: 'id = ?', values: [id], times: TIMES })
  for (const [table, keys] of Object.entries(KEYS)) {
    const [column] = await app.db.query(`select name from pragma_table_info('${table}') where name = 'game_id'`)
    // Of rows of several games, that of the private one.
    const [where, values] = column ? ['true order by game_id = ? desc', [owner.game.id]] : ['true', []]
    await multiplyRows(app.db, { table, keys, where, values, times: TIMES })
  }
}

t.test('no route reads row by row', async (t) => {
  const texts = noteStatements(t)
  const world = await inhabit(t, { config: { database: { driver: 'sqlite' } } })
  const { platform, owner } = world
  const { app } = platform
  const now = app.clock.now().getTime()
  const { id: otherId } = await platform.signUp()
  const [board] = await app.db.query<{ key: string }>('select key from score_boards where game_id = ?', [owner.game.id])
  for (const [table, row] of rowsOf(world, { otherId, board: board?.key ?? '', now }))
    await insert(app.db, table, row, now)
  const save = { bytes: Buffer.from('{}'), contentType: 'application/json' }
  await app.saves.put({ gameId: owner.game.id, playerId: owner.browser.id }, 'slot', save)
  await owner.browser.put(`/api/games/${owner.game.id}/draft/files/index.html`, { text: '<p>hello</p>' })

  // The sign-in has statements of its own.
  await world.as('administrator')

  /** Asks a route twice, since the first answer may fill a cache. @returns the statements of each answer */
  const ask = async (route: RouteEntry) => {
    const answers: { status: number; statements: string[] }[] = []
    for (let time = 0; time < 2; time++) {
      texts.length = 0
      const { status } = await world.read(route)
      answers.push({ status, statements: [...texts] })
    }
    return answers
  }

  const routes = app.routeTable.entries.filter(({ method }) => method === 'GET')
  const before = new Map<RouteEntry, Awaited<ReturnType<typeof ask>>>()
  for (const route of routes) before.set(route, await ask(route))
  t.ok([...before.values()].filter(([first]) => first?.status === 200).length > 150, 'most of them answer')
  await multiply(world)
  const byRow: string[] = []
  for (const route of routes) {
    const after = await ask(route)
    for (const [index, { status, statements }] of (before.get(route) ?? []).entries()) {
      const { status: statusNow, statements: statementsNow } = after[index] as (typeof after)[number]
      t.equal(statusNow, status, `${route.url}: the same status`)
      // A few more may be those of a check by the clock, such as that of /readyz.
      if (statementsNow.length < statements.length + TIMES) continue
      if (!byRow.includes(route.url)) byRow.push(route.url)
      if (route.url in BY_ROW) continue
      const repeated = Map.groupBy(statementsNow, (text) => text)
      const often = [...repeated]
        .filter(([, { length }]) => length > 1)
        .map(([text, { length }]) => `${length} × ${text}`)
      t.fail(`${route.url}: ${statements.length} statements before, ${statementsNow.length} now`, { often })
    }
  }
  t.same(byRow.sort(), Object.keys(BY_ROW).sort(), 'those that read row by row')
})

import t from 'tap'
import { multiplyRows } from '../../kit/multiply-rows.ts'
import { startPlatform } from '../../kit/platform.ts'

// A platform has thousands of games after some years, most of them not listed. Queries for a page must not scan the
// others. SQLite reports its query plans, so the test does not depend on time.
t.test('lists of games read just the rows of a page, in the order of an index', async (t) => {
  const platform = await startPlatform(t)
  const { app, clock } = platform
  const { id: owner } = await platform.signUp()
  for (const title of ['First game', 'Second game', 'Third game']) {
    await app.games.create(owner, { title, description: '', tags: ['puzzle'], features: { inputs: ['touch'] } })
    clock.advance(1)
  }
  /** Returns the statements on `games` that `work` executes, each with SQLite's query plan. */
  const plansOf = async (work: () => Promise<unknown>) => {
    const { query } = app.db
    const captured = t.capture(app.db, 'query', query)
    await work()
    const calls = captured().map(({ args }) => args as unknown as Parameters<typeof query>)
    captured.restore()
    const plans: string[] = []
    for (const [sql, values] of calls.filter(([sql]) => /\bgames g\b/.test(sql))) {
      const steps = await app.db.query<{ detail: string }>(`explain query plan ${sql}`, values)
      plans.push(steps.map(({ detail }) => detail).join('; '))
    }
    t.ok(plans.length > 0, 'it asks for games')
    return plans
  }
  const page = (query: object) => () =>
    app.games.catalog.page({ sort: 'new', limit: 24, ...query } as never, { ready: true })
  const indexed: [string, () => Promise<unknown>, RegExp][] = [
    ['the newest', page({}), /^SEARCH g USING INDEX games_listed_id_index/],
    [
      'the newest, further on',
      page({ cursor: `gam_${'0'.repeat(26)}` }),
      /^SEARCH g USING INDEX games_listed_id_index/,
    ],
    ['the most played', page({ sort: 'popular' }), /^SEARCH g USING INDEX games_listed_plays_index/],
    [
      'a search',
      page({ q: 'game' }),
      /^SEARCH k USING (COVERING )?INDEX \S*game_terms\S* \(term=\?\); SEARCH g .*id=\?/,
    ],
    ['a search for two words and a tag', page({ q: 'sec game', tag: 'puzzle' }), /^SEARCH k .*\(term=\?\); SEARCH g/],
    ['a feature', page({ input: ['touch'] }), /^SEARCH k .*\(field=\? AND value=\?\); SEARCH g .*id=\?/],
    [
      'a search with features, which reads the rarest',
      page({ q: 'game', input: ['touch'], language: 'de' }),
      /^SEARCH k .*\(field=\? AND value=\?\); SEARCH g (?=.*\(term=\? AND game_id=\?\)).*\(field=\? AND value=\? AND game_id=\?\)/,
    ],
    ['a game by its slug', () => app.games.get('second-game'), /^SEARCH g USING INDEX games_slug_deleted_at_id_index/],
  ]
  for (const [name, work, plan] of indexed) {
    for (const found of await plansOf(work)) {
      t.match(found, plan, name)
      t.notMatch(found, /TEMP B-TREE|SCAN g\b/, `${name} is not sorted`)
    }
  }

  const games = () => page({ sort: 'popular', input: ['touch'] })() as Promise<{ games: { id: string }[] }>
  await app.db.execute('update games set live_deploy_id = ?', ['dep_00000000000000000000000000'])
  const few = (await games()).games.map(({ id }) => id)
  t.equal(few.length, 3)
  const where = "field = 'input'"
  await multiplyRows(app.db, { table: 'game_features', where, values: [], keys: ['game_id'], times: 1000 })
  for (const found of await plansOf(games)) {
    t.match(found, /^SEARCH g USING INDEX games_listed_plays_index/, 'the most played with a common feature')
    t.notMatch(found, /TEMP B-TREE|SCAN/)
  }
  t.same(
    (await games()).games.map(({ id }) => id),
    few,
    'are the same games in the same order',
  )
})

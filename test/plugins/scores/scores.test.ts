import t, { type Test } from 'tap'
import { sweepScores } from '../../../plugins/scores/retention.ts'
import { exportOf } from '../../kit/exports.ts'
import { type Client, type PlatformOptions, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { deploy } from '../game-edge/kit.ts'
import { signInTo } from '../multiplayer/kit.ts'

const DAY_MS = 86_400_000

async function withBoard(t: Test, fields: Record<string, unknown> = {}, options: PlatformOptions = {}) {
  const platform = await startPlatform(t, options)
  const owner = await platform.signUp({ name: 'Owner' })
  const program = await platform.program(owner)
  const game = await platform.game(owner)
  const host = platform.gameHost(game.slug)
  const boards = `/api/games/${game.slug}/boards`
  const made = await program.put(`${boards}/fastest`, { title: 'Fastest', ...fields })
  t.equal(made.status, 201)
  const join = async (name: string) => {
    const player = await platform.signUp({ name })
    await signInTo(player, host)
    return player
  }
  const submit = (player: Client, score: number, more: object = {}, headers = {}) =>
    player.post('/__service/scores/fastest', { score, ...more }, { host, headers })
  const list = (player: Client, query = '') => player.get(`/__service/scores/fastest${query}`, { host })
  return { platform, owner, program, game, host, boards, join, submit, list }
}

t.test('the owner makes, changes, lists and removes boards', async (t) => {
  const { program, boards, platform } = await withBoard(t)
  t.match((await program.get(`${boards}/fastest`)).body, {
    id: 'fastest',
    title: 'Fastest',
    order: 'desc',
    format: 'number',
    decimals: 0,
    keep: 'best',
    reset: 'never',
    min: null,
    max: null,
    writers: 'players',
  })
  const changed = await program.put(`${boards}/fastest`, {
    title: 'Laps',
    order: 'asc',
    decimals: 2,
    min: 0.5,
    max: 99,
  })
  t.match(changed, { status: 200, body: { title: 'Laps', order: 'asc', decimals: 2, min: 0.5, max: 99 } })
  t.match(await program.put(`${boards}/fastest`, { title: 'Laps again' }), {
    status: 200,
    body: { order: 'asc', decimals: 2, min: 0.5 },
  })
  t.equal((await program.put(`${boards}/second`, { title: 'Second' })).status, 201)
  t.match((await program.get(boards)).body.boards, [{ id: 'fastest' }, { id: 'second' }])
  t.equal((await program.delete(`${boards}/second`)).status, 204)
  t.match(await program.delete(`${boards}/second`), { status: 404, body: { error: { code: 'not_found' } } })
  t.equal((await program.get(`${boards}/second`)).status, 404)

  t.match(await program.put(`${boards}/Not OK`, { title: 'x' }), { status: 400 })
  t.match(await program.put(`${boards}/fastest`, { title: 'x', min: 5, max: 4 }), { status: 400 })
  t.match(await program.put(`${boards}/fastest`, { title: 'x', decimals: 7 }), { status: 400 })
  t.match(await program.put(`${boards}/fastest`, { title: 'x', colour: 'red' }), { status: 400 })
  const other = await platform.program(await platform.signUp())
  for (const answer of [
    await other.get(boards),
    await other.put(`${boards}/mine`, { title: 'Mine' }),
    await other.delete(`${boards}/fastest`),
  ])
    t.match(answer, { status: 404, body: { error: { code: 'not_found' } } })
})

t.test('a game has at most 50 boards', async (t) => {
  const { program, boards } = await withBoard(t)
  for (let n = 1; n < 50; n++) t.equal((await program.put(`${boards}/b${n}`, { title: 'B' })).status, 201)
  t.match(await program.put(`${boards}/more`, { title: 'B' }), {
    status: 409,
    body: { error: { code: 'too_many_boards' } },
  })
  t.equal((await program.put(`${boards}/b7`, { title: 'Changed' })).status, 200)
})

t.test('a submission that names itself counts once', async (t) => {
  const { platform, program, boards, game, join, submit, list } = await withBoard(t, { keep: 'sum', max: 50 })
  const [ada, bo] = [await join('Ada'), await join('Bo')]
  const first = { submissionId: 'a-random-id-of-Ada' }
  t.match(await submit(ada, 60, first), { status: 400 }, 'a refused one does not count as sent')
  t.match(await submit(ada, 10, first), { status: 200, body: { best: 10, improved: true } })
  t.match(await submit(ada, 10, first), { status: 200, body: { best: 10, rank: 1, total: 1, improved: false } })
  const atOnce = await Promise.all([1, 2, 3].map(() => submit(ada, 5, { submissionId: 'another-id-of-Ada' })))
  t.same(
    atOnce.map(({ body }) => body.best),
    [15, 15, 15],
  )
  t.match((await submit(bo, 7, first)).body, { best: 7, improved: true }, 'it is of one player')
  for (const submissionId of ['short', 'x'.repeat(65), 'with a space in it'])
    t.match(await submit(ada, 1, { submissionId }), { status: 400 })
  t.match(await submit(ada, 1, {}, { 'service-player': bo.id }), {
    status: 409,
    body: { error: { code: 'other_player' } },
  })
  const board = await platform.app.scores.boards.get(game.id, 'fastest')
  t.match(await platform.app.scores.submissionsByDay(board, 1), [{ submissions: 3 }])

  t.equal((await program.delete(`${boards}/fastest/scores/${ada.id}`)).status, 204)
  t.match(await submit(ada, 10, first), { status: 200, body: { improved: false } })
  t.equal((await list(ada)).body.me, null, 'a score that was removed does not come back')
  platform.clock.advance(6 * DAY_MS)
  await sweepScores(platform.app.db, platform.clock.now())
  await submit(ada, 10, first)
  t.equal((await list(ada)).body.me, null)
  platform.clock.advance(2 * DAY_MS)
  await sweepScores(platform.app.db, platform.clock.now())
  t.same(await platform.app.db.query('select id from score_submissions'), [], 'nothing is kept for longer')
})

t.test('a score has its place; equal scores share a rank and the earlier stands first', async (t) => {
  const { platform, join, submit, list, game } = await withBoard(t)
  const [ada, bo, cy] = [await join('Ada'), await join('Bo'), await join('Cy')]
  t.match(await submit(ada, 100), {
    status: 200,
    headers: { 'cache-control': 'no-store' },
    body: { score: 100, best: 100, rank: 1, total: 1, improved: true, periodEndsAt: null },
  })
  platform.clock.advance(1000)
  t.match((await submit(bo, 200, { detail: { car: 'red' } })).body, { rank: 1, total: 2 })
  t.match((await submit(bo, 150)).body, { score: 150, best: 200, rank: 1, total: 2, improved: false })
  platform.clock.advance(1000)
  t.match((await submit(cy, 100)).body, { rank: 2, total: 3 })

  const { body } = await list(ada)
  t.match(body, {
    board: { id: 'fastest', title: 'Fastest', order: 'desc' },
    total: 3,
    nextCursor: null,
    periodEndsAt: null,
    me: { rank: 2, player: { sub: ada.id, name: 'Ada' }, score: 100, me: true },
    entries: [
      { rank: 1, player: { sub: bo.id, name: 'Bo', imageUrl: /^http/ }, score: 200, detail: { car: 'red' }, me: false },
      { rank: 2, player: { name: 'Ada' }, detail: null, me: true },
      { rank: 2, player: { name: 'Cy' }, me: false },
    ],
  })
  const first = await list(ada, '?limit=2')
  t.equal(first.body.entries.length, 2)
  const second = await list(ada, `?limit=2&cursor=${first.body.nextCursor}`)
  t.match(second.body, { entries: [{ rank: 2, player: { name: 'Cy' } }], nextCursor: null })
  t.match(await list(ada, '?cursor=nonsense'), { status: 400, body: { error: { code: 'invalid_request' } } })
  t.match((await list(cy, '?around=me&limit=2')).body.entries, [{ player: { name: 'Ada' } }, { me: true }])

  const anyone = await platform.stranger.get(`/api/games/${game.id}/boards/fastest/scores?limit=1`)
  t.match(anyone, { status: 200, body: { total: 3, me: null, entries: [{ rank: 1, player: { name: 'Bo' } }] } })
  t.match((await ada.get(`/api/games/${game.slug}/boards/fastest/scores`)).body.me, { rank: 2 })
  t.equal((await platform.stranger.get(`/api/games/${game.id}/boards/slowest/scores`)).status, 404)
})

t.test('who may submit: the player of the game, from its pages, within the bounds', async (t) => {
  const { platform, join, submit, program, boards, host, list } = await withBoard(t, { min: 0, max: 1000 })
  const ada = await join('Ada')
  t.match(await submit(platform.stranger, 1), { status: 401, body: { error: { code: 'unauthorized' } } })
  t.match((await list(platform.stranger)).body, { total: 0, me: null, entries: [] })
  for (const origin of [undefined, platform.portal, 'http://evil.localhost:8080', 'null'])
    t.match(await submit(ada, 1, {}, { origin }), { status: 403, body: { error: { code: 'forbidden' } } })
  t.match(await submit(ada, -1), { status: 400, body: { error: { code: 'score_out_of_range' } } })
  t.match(await submit(ada, 1001), { status: 400, body: { error: { code: 'score_out_of_range' } } })
  for (const body of [{}, { score: 'high' }, { score: null }, { score: 1, extra: 1 }])
    t.match(await ada.post('/__service/scores/fastest', body, { host }), { status: 400 })
  t.equal((await ada.post('/__service/scores/slowest', { score: 1 }, { host })).status, 404)
  t.equal((await submit(ada, 1, { detail: 'x'.repeat(1022) })).status, 200)
  t.match(await submit(ada, 2, { detail: 'x'.repeat(1023) }), { status: 413 })
  t.match((await list(ada)).body, { total: 1, entries: [{ score: 1 }] })

  t.match(await program.put(`${boards}/fastest`, { title: 'Fastest', writers: 'room' }), {
    status: 200,
    body: { warning: /no room script|has none/ },
  })
  t.match((await program.put(`${boards}/free`, { title: 'Free' })).body, { warning: null })
  t.match(await submit(ada, 5), { status: 403, body: { error: { code: 'room_writes_only' } } })
  const gameId = (await program.get('/api/games')).body.games[0].id
  const { scores } = platform.app
  const room = { gameId, boardId: 'fastest', playerId: ada.id }
  t.match(await scores.submitFromRoom({ ...room, score: 7, detail: { lap: 3 } }), { best: 7, rank: 1 })
  t.match((await list(ada)).body.me, { score: 7, detail: { lap: 3 } })
  for (const score of [Number.NaN, Number.POSITIVE_INFINITY, '7' as never])
    await t.rejects(scores.submitFromRoom({ ...room, score }), { code: 'invalid_request' })
  await t.rejects(scores.submitFromRoom({ ...room, score: 7, detail: 1n }), { code: 'invalid_request' })
  await t.rejects(scores.submitFromRoom({ ...room, score: 1001 }), { code: 'score_out_of_range' })
  await t.rejects(scores.submitFromRoom({ ...room, score: 7, boardId: 'slowest' }), { code: 'not_found' })
  await t.rejects(scores.submitFromRoom({ ...room, score: 7, playerId: 'ply_nobody' }), { code: 'unauthorized' })
})

t.test('10 scores a minute of a player on a board', async (t) => {
  const { join, submit, program, boards, host } = await withBoard(t, {}, { config: { limits: { rateLimits: true } } })
  await program.put(`${boards}/other`, { title: 'Other' })
  const [ada, bo] = [await join('Ada'), await join('Bo')]
  for (let n = 0; n < 10; n++) t.equal((await submit(ada, n)).status, 200)
  t.match(await submit(ada, 99), { status: 429, headers: { 'retry-after': /^\d+$/ } })
  t.equal((await submit(bo, 1)).status, 200)
  t.equal((await ada.post('/__service/scores/other', { score: 1 }, { host })).status, 200)
})

t.test('a board begins anew: current, previous and all', async (t) => {
  const { platform, join, submit, list } = await withBoard(t, { reset: 'daily' })
  const ada = await join('Ada')
  t.match((await submit(ada, 10)).body, { rank: 1, periodEndsAt: '2026-11-22T00:00:00.000Z' })
  platform.clock.advance(DAY_MS)
  t.match((await list(ada)).body, { total: 0, me: null, periodEndsAt: '2026-11-23T00:00:00.000Z' })
  t.match((await submit(ada, 5)).body, { best: 5, improved: true, total: 1 })
  t.match((await list(ada, '?period=previous')).body, { entries: [{ score: 10 }], me: { score: 10 } })
  t.match((await list(ada, '?period=all')).body, { entries: [{ score: 10 }], total: 1, periodEndsAt: null })
  platform.clock.advance(3 * DAY_MS)
  await sweepScores(platform.app.db, platform.clock.now())
  const rows = await platform.app.db.query('select period from score_entries')
  t.same(rows, [{ period: 0 }], 'older periods are deleted')
  t.match((await list(ada, '?period=all')).body, { total: 1 })
})

t.test('what scores depend on is fixed once there are scores', async (t) => {
  const { join, submit, program, boards, list, platform } = await withBoard(t)
  const ada = await join('Ada')
  await submit(ada, 10)
  t.match(await program.put(`${boards}/fastest`, { title: 'F', order: 'asc', keep: 'sum' }), {
    status: 409,
    body: { error: { code: 'board_has_scores', message: /order, keep/ } },
  })
  t.equal((await program.put(`${boards}/fastest`, { title: 'Faster', max: 50, order: 'desc' })).status, 200)
  await program.delete(`${boards}/fastest`)
  await program.put(`${boards}/fastest`, { title: 'Anew', order: 'asc' })
  t.match((await list(ada)).body, { board: { title: 'Anew' }, total: 0, entries: [] })
  await sweepScores(platform.app.db, platform.clock.now())
  for (const table of ['score_entries', 'score_nodes', 'score_days', 'score_deletions'])
    t.same(await platform.app.db.query(`select board from ${table}`), [], table)
})

t.test('the owner removes a score, and keeps a player off', async (t) => {
  const { join, submit, program, boards, list, platform } = await withBoard(t)
  const [ada, bo] = [await join('Ada'), await join('Bo')]
  await submit(ada, 10)
  await submit(bo, 20)
  const other = await platform.program(bo)
  t.equal((await other.delete(`${boards}/fastest/scores/${ada.id}`)).status, 404)
  t.equal((await program.delete(`${boards}/fastest/scores/${bo.id}`)).status, 204)
  t.equal((await program.delete(`${boards}/fastest/scores/${bo.id}`)).status, 404)
  t.match((await list(ada)).body, { total: 1, entries: [{ rank: 1, player: { name: 'Ada' } }] })
  t.equal((await submit(bo, 21)).status, 200, 'Bo may submit again')

  t.equal((await other.put(`${boards}/fastest/excluded/${ada.id}`)).status, 404)
  t.equal((await program.put(`${boards}/fastest/excluded/${bo.id}`)).status, 204)
  t.equal((await program.put(`${boards}/fastest/excluded/ply_nobody`)).status, 404)
  t.match(await submit(bo, 22), { status: 403, body: { error: { code: 'kept_off_board' } } })
  t.match((await program.get(`${boards}/fastest/excluded`)).body.players, [{ sub: bo.id, name: 'Bo' }])
  t.match((await list(ada)).body, { total: 1 })
  t.equal((await program.delete(`${boards}/fastest/excluded/${bo.id}`)).status, 204)
  t.match((await submit(bo, 5)).body, { rank: 2, total: 2 })
})

t.test('the scores of a disabled player are hidden, and return', async (t) => {
  const { join, submit, list, platform } = await withBoard(t)
  const [ada, bo] = [await join('Ada'), await join('Bo')]
  await submit(ada, 10)
  await submit(bo, 20)
  const { administration } = platform.app.identity
  await administration.setDisabled(bo.id, true)
  t.match((await list(ada)).body, { total: 1, entries: [{ rank: 1, player: { name: 'Ada' } }], me: { rank: 1 } })
  t.equal((await submit(bo, 30)).status, 401)
  await administration.setDisabled(bo.id, false)
  t.match((await list(ada)).body, { total: 2, entries: [{ rank: 1, score: 20 }, { rank: 2 }] })
})

t.test('scores go with the account, and are in its export', async (t) => {
  const { join, submit, list, platform, game } = await withBoard(t, { decimals: 1, reset: 'daily' })
  const [ada, bo] = [await join('Ada'), await join('Bo')]
  await submit(ada, 10)
  await submit(bo, 20.5, { detail: [1] })
  const { deletion } = platform.app.identity
  t.match((await exportOf(platform.app, bo.id)).scores, [
    { gameId: game.id, board: 'fastest', since: null, score: 20.5, detail: [1] },
    { since: '2026-11-21T00:00:00.000Z' },
  ])
  await deletion.remove(bo.id)
  t.match((await list(ada, '?period=all')).body, { total: 1, entries: [{ rank: 1, player: { name: 'Ada' } }] })
  t.same(await platform.app.db.query('select board from score_entries where player_id = ?', [bo.id]), [])
})

t.test('boards go with the game', async (t) => {
  const { join, submit, program, platform, game } = await withBoard(t)
  await submit(await join('Ada'), 10)
  await program.delete(`/api/games/${game.id}`)
  t.equal((await platform.stranger.get(`/api/games/${game.id}/boards/fastest/scores`)).status, 404)
  platform.clock.advance(31 * DAY_MS)
  await platform.app.games.deletion.purge(AbortSignal.timeout(timeLimit()))
  await sweepScores(platform.app.db, platform.clock.now())
  for (const table of ['score_boards', 'score_entries', 'score_nodes', 'score_deletions'])
    t.same(await platform.app.db.query(`select 1 from ${table}`), [], table)
})

t.test('a private game, a suspended game, a preview', async (t) => {
  const { join, submit, list, program, platform, game, owner, host } = await withBoard(t)
  const ada = await join('Ada')
  await signInTo(owner, host)
  await submit(ada, 10)
  const open = `/api/games/${game.id}/boards/fastest/scores`
  await program.patch(`/api/games/${game.id}`, { visibility: 'private' })
  for (const answer of [await list(ada), await submit(ada, 20), await ada.get(open), await platform.stranger.get(open)])
    t.equal(answer.status, 404)
  t.match((await list(owner)).body, { total: 1 })
  t.match((await program.get(open)).body, { total: 1 })
  await program.patch(`/api/games/${game.id}`, { visibility: 'public' })

  await platform.app.games.suspensions.suspend(game.id, 'because')
  for (const answer of [await list(ada), await submit(ada, 20), await platform.stranger.get(open)])
    t.match(answer, { status: 451, body: { error: { code: 'suspended' } } })
  await platform.app.games.suspensions.lift(game.id)
  t.equal((await submit(ada, 20)).status, 200)

  const deployId = await deploy(platform, program, game.id, { 'index.html': 'hello' })
  const { deploys } = (await program.get(`/api/games/${game.id}/deploys`)).body
  const preview = new URL(deploys.find(({ id }: { id: string }) => id === deployId).previewUrl).host
  await signInTo(owner, preview)
  t.match(await owner.get('/__service/scores/fastest', { host: preview }), { status: 200, body: { total: 1 } })
  t.match(await owner.post('/__service/scores/fastest', { score: 99 }, { host: preview }), {
    status: 403,
    body: { error: { code: 'not_in_previews' } },
  })
  t.match((await list(owner)).body, { total: 1, me: null }, 'a preview shows the board and adds nothing')
})

t.test('submissions by day, for the chart', async (t) => {
  const { join, submit, platform, game, owner } = await withBoard(t)
  t.notMatch((await owner.get(`/games/${game.slug}/analytics`)).text, /scores submitted/)
  const ada: PlayerClient = await join('Ada')
  await submit(ada, 1)
  await submit(ada, 2)
  platform.clock.advance(DAY_MS)
  await submit(ada, 1)
  const board = await platform.app.scores.boards.get(game.id, 'fastest')
  t.same(await platform.app.scores.submissionsByDay(board, 3), [
    { date: '2026-11-20', submissions: 0 },
    { date: '2026-11-21', submissions: 2 },
    { date: '2026-11-22', submissions: 1 },
  ])
  t.match((await owner.get(`/games/${game.slug}/analytics?days=7`)).text, /scores submitted<\/dt><dd>3</)
  platform.clock.advance(6 * DAY_MS)
  t.match((await owner.get(`/games/${game.slug}/analytics?days=7`)).text, /scores submitted<\/dt><dd>1</)
})

t.test('a score that waits for its batch while the game ends is not stored', async (t) => {
  const { platform, owner, game, join } = await withBoard(t)
  const { app } = platform
  const ada = await join('Ada')
  // Past the checks of the request, as a score is that waits for the batch before.
  const submit = () =>
    app.scores.submit({ gameId: game.id, boardId: 'fastest', playerId: ada.id, score: 7, writer: 'players' })
  await app.games.suspensions.suspend(game.id, 'No.')
  await t.rejects(submit(), { code: 'suspended' })
  await app.games.suspensions.lift(game.id)
  await app.games.remove(owner.id, game.id)
  await t.rejects(submit(), { code: 'not_found' })
  t.same(await app.db.query('select player_id from score_entries'), [])
  await app.games.deletion.restore(owner.id, game.id)
  t.match(await submit(), { rank: 1 })
})

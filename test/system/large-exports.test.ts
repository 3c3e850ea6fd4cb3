// The data export of an account with more of everything than fits into one page.
import { writeFile } from 'node:fs/promises'
import t from 'tap'
import { inPages } from '../../core/http/pagination.ts'
import { newId } from '../../core/ids.ts'
import { GenerationRow } from '../../plugins/ai/entities.ts'
import { JobRow, JobText } from '../../plugins/blender/entities.ts'
import { multiplyRows } from '../kit/multiply-rows.ts'
import { REDIRECT_URI } from '../kit/oauth.ts'
import { startPlatform } from '../kit/platform.ts'
import { sheet } from '../plugins/assets/models.ts'

/** More than one page, and not a multiple of one. */
const MANY = 450
/** The greatest part of a file that is in memory at once. */
const LARGEST_PART = 512 * 1024

t.test('an export reads everything of which players choose the number in pages', async (t) => {
  const platform = await startPlatform(t)
  const { app } = platform
  const { db } = app
  const player = await platform.signUp({ name: 'Ada' })
  const other = await platform.signUp({ name: 'Eve' })
  const game = await platform.game(player, { title: 'Pong', description: 'x'.repeat(2000) })
  const theirs = await platform.game(other, { title: 'Not hers' })
  const path = `${app.config.dataDir}/rock.glb`
  await writeFile(path, await sheet(4))
  await app.assets.create(player.id, { title: 'Rock', visibility: 'public' }, { path, name: 'rock.glb' })
  const put = await player.put(`/api/games/${game.id}/draft/files/index.html`, { text: '<p>hello</p>' })
  t.equal(put.status, 200, put.text)
  const report = { target: { kind: 'game', id: theirs.id }, category: 'spam', text: 'Spam.' }
  const reported = await player.post('/api/reports', report)
  t.ok(reported.status < 300, reported.text)
  const save = { bytes: Buffer.from('{"level":1}'), contentType: 'application/json' }
  await app.saves.put({ gameId: game.id, playerId: player.id }, 'progress', save)
  await app.scores.boards.put(game.id, 'best', { title: 'Best', reset: 'daily' })
  await app.scores.submit({ gameId: game.id, boardId: 'best', playerId: player.id, score: 3, writer: 'players' })
  await db.transaction((em) => app.moderation.messages.sendIn(em, player.id, { subject: 'Hello', text: 'You.' }))

  await app.credits.grant(player.id, 5, { kind: 'grant', description: 'A gift', key: 'gift' })
  const at = new Date()
  const generation = { playerId: player.id, gameId: game.id, type: 'text', model: 'm', credits: 1, date: '2026-11-21' }
  await db.em().insert(GenerationRow, { id: newId('gen', at), ...generation, createdAt: at })
  const job = newId('job', at)
  await db.em().insert(JobRow, {
    id: job,
    ownerId: player.id,
    purpose: 'job',
    name: 'Cube',
    action: 'create',
    status: 'completed',
    progress: 1,
    parameters: {},
    starterAssets: [],
    faceLimit: 1000,
    attempts: 1,
    turn: 1,
    queuedAt: at,
    artifacts: [],
  } as never)
  await db.em().insert(JobText, { jobId: job, script: 'print(1)', log: '' })
  await db.execute('insert into oauth_sign_ins (client_id, date, player_id, count) values (?, ?, ?, 1)', [
    'client',
    '2026-11-21',
    player.id,
  ])
  for (let number = 0; number < 101; number++) {
    const name = `App ${number}`
    const about = { ownerId: player.id, name, homepageUrl: null, gameId: null, redirectUris: [REDIRECT_URI] }
    await app.identity.apps.create(db.em(), about)
  }

  const multiply = (table: string, where: string, keys: readonly string[]) =>
    multiplyRows(db, { table, where, values: [player.id], keys, times: MANY - 1 })
  await multiply('draft_files', 'game_id in (select id from games where owner_id = ?)', ['path'])
  await multiply('game_activity', 'game_id in (select id from games where owner_id = ?)', ['id'])
  await multiply('games', 'owner_id = ?', ['id', 'slug'])
  await multiply('assets', 'owner_id = ?', ['id', 'slug'])
  await multiply('reports', 'reporter_id = ?', ['id', 'open_key'])
  await multiply('score_entries', 'player_id = ?', ['period'])
  await multiply('staff_messages', 'player_id = ?', ['id'])
  await multiply('save_usage', 'player_id = ?', ['game_id'])
  await multiply('oauth_sign_ins', 'player_id = ?', ['client_id'])
  await multiply('ai_generations', 'player_id = ?', ['id'])
  await multiply('credit_ledger', 'player_id = ?', ['id', 'key'])
  await multiply('saves', 'player_id = ?', ['game_id'])

  const parts: string[] = []
  for await (const part of app.identity.deletion.data.begin(player.id, new Date())) parts.push(String(part))
  const file = JSON.parse(parts.join(''))
  const distinct = (list: object[], key: string) =>
    new Set(list.map((entry) => (entry as Record<string, unknown>)[key]))
  t.equal(distinct(file.games, 'id').size, MANY)
  t.equal(distinct(file.assets, 'id').size, MANY)
  t.equal(distinct(file.drafts, 'path').size, MANY)
  t.equal(distinct(file.reports, 'id').size, MANY)
  t.ok(distinct(file.activity, 'id').size >= MANY)
  t.equal(distinct(file.scores, 'since').size, MANY + 1, 'the ranking of all time, and days')
  t.equal(file.messages.length, MANY)
  t.equal(distinct(file.aiGenerations, 'id').size, MANY)
  t.equal(distinct(file.signIns, 'clientId').size, MANY)
  t.ok(distinct(file.creditLedger, 'id').size >= MANY)
  t.notOk('nextCursor' in file.credits, 'nothing of how pages are read')
  t.ok(distinct(file.applications, 'id').size > 101)
  t.match(file.blenderJobs, [{ id: job, name: 'Cube', script: 'print(1)' }])
  t.notMatch(JSON.stringify(file.blenderJobs), /lease|turn/)
  t.equal(new Set(file.saves.map(({ game }: { game: { id: string } }) => game.id)).size, MANY)
  const own = file.saves.filter(({ game: { id } }: { game: { id: string } }) => id === game.id)
  t.match(own, [{ saves: [{ key: 'progress', text: '{"level":1}' }] }])
  for (const name of ['games', 'assets', 'drafts', 'reports', 'activity', 'scores', 'saves']) {
    t.equal(file[name].length, new Set(file[name].map((entry: object) => JSON.stringify(entry))).size, 'each once')
  }
  t.notMatch(JSON.stringify(file.games), 'Not hers')
  t.ok(Math.max(...parts.map(({ length }) => length)) < LARGEST_PART, 'in small parts')

  parts.length = 0
  for await (const part of app.identity.deletion.data.begin(other.id, new Date())) parts.push(String(part))
  t.match(JSON.parse(parts.join('')), { games: [{ title: 'Not hers' }], assets: [], drafts: [], reports: [] })
})

t.test('pages go on behind the last row until one is not full', async (t) => {
  const pagesOf = async (rows: number) => {
    const asked: (number | null)[] = []
    const pages = inPages<number>(async (after, limit) => {
      asked.push(after)
      const start = after ?? 0
      return Array.from({ length: Math.min(limit, rows - start) }, (_, index) => start + index + 1)
    })
    const read = (await Array.fromAsync(pages)).map(({ length }) => length)
    return { asked, read }
  }
  t.same(await pagesOf(0), { asked: [null], read: [0] }, 'an empty list has a page too')
  t.same(await pagesOf(450), { asked: [null, 100, 200, 300, 400], read: [100, 100, 100, 100, 50] })
  t.same(await pagesOf(100), { asked: [null, 100], read: [100, 0] })
})

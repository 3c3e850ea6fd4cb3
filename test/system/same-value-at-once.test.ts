// What has a unique value is made ten times at once with the same one: one is made, and the others are refused or get the
// same. None is an error of the server, on either database.
import t, { type Test } from 'tap'
import { amount, inFull } from '../kit/extent.ts'
import { type Answer, startPlatform } from '../kit/platform.ts'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { deploy } from '../plugins/game-edge/kit.ts'
import { enter } from '../plugins/saves/kit.ts'

const TIMES = amount(4, 10)

async function makeEverything(t: Test, config: Record<string, unknown> = {}) {
  const platform = await startPlatform(t, { config: { limits: { gamesPerPlayer: 100 }, ...config } })
  const { app } = platform
  const admin = await platform.admin()
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const game = await platform.game(owner, { title: 'Pong' })
  await deploy(platform, program, game.id, { 'index.html': 'Pong' })
  const others = await Promise.all(
    Array.from({ length: TIMES }, (_, n) => platform.game(owner, { title: `Game ${n}` })),
  )
  const saver = await enter(platform, platform.gameHost(game.slug))
  const second = await enter(platform, platform.gameHost(game.slug))
  await app.jams.create({ title: 'Jam' })
  const headers = { 'idempotency-key': 'the-same' }
  const target = { kind: 'game', id: game.id }
  const password = 'correct yard battery fence'

  /** Each route: the request, and the statuses of the first and of the others. */
  const routes: Record<string, [(n: number) => Promise<Answer>, first: number, others: readonly number[]]> = {
    'an account': [
      () => platform.stranger.post('/api/auth/sign-up', { name: 'Same', email: 'same@example.org', password }),
      ...([201, [409]] as const),
    ],
    'a game of the same title': [() => program.post('/api/games', { title: 'Same', description: '' }), 201, [201]],
    'a game with the same Idempotency-Key': [
      () => program.post('/api/games', { title: 'Once', description: '' }, { headers }),
      ...([201, [201, 409]] as const),
    ],
    'a slug': [(n) => program.patch(`/api/games/${others[n]?.id}`, { slug: 'wanted' }), 200, [409]],
    'a board': [() => program.put(`/api/games/${game.id}/boards/same`, { title: 'Same' }), 201, [200]],
    'a file of a draft': [
      () =>
        program.put(`/api/games/${game.id}/draft/files/same.js`, 'same', { headers: { 'content-type': 'text/plain' } }),
      ...([200, [200, 409, 412]] as const),
    ],
    'a report': [
      () => saver.player.post('/api/reports', { target, category: 'spam', text: 'Same.' }),
      ...([201, [200, 201]] as const),
    ],
    'an entry of a jam': [() => program.post('/api/jam/entries', { gameId: game.id }), 204, [204]],
    'a save': [() => saver.put('same', 'same'), 201, [200, 201, 204]],
    'an excluded player': [
      () => program.put(`/api/games/${game.id}/boards/same/excluded/${saver.id}`),
      ...([204, [204]] as const),
    ],
    'a quota of a player': [
      () => admin.patch(`/api/admin/players/${owner.id}/quotas`, { gamesPerPlayer: 101 }),
      ...([200, [200]] as const),
    ],
    'a consent and a session in a game': [
      () => second.player.get('/auth/service/start', { host: platform.gameHost(game.slug) }),
      ...([302, [302]] as const),
    ],
    'a version of a game': [() => program.post(`/api/games/${game.id}/secret`), ...([200, [200, 409]] as const)],
  }
  for (const [what, [make, first, rest]] of Object.entries(routes)) {
    const answers = await Promise.all(Array.from({ length: TIMES }, (_, n) => make(n)))
    const statuses = answers.map(({ status }) => status)
    const wrong = answers.filter(({ status }) => status !== first && !rest.includes(status))
    t.same(
      wrong.map(({ status, text }) => `${status} ${text}`),
      [],
      what,
    )
    t.ok(statuses.includes(first), `${what}: one is made`)
    if (!rest.includes(first))
      t.equal(statuses.filter((status) => status === first).length, 1, `${what}: only one is made`)
  }
  return { platform, game }
}

t.setTimeout(timeLimit(120))
t.test('of the same value made several times at once one is made, and none is an error', (t) => makeEverything(t))
inFull(t)?.test('the same on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  await makeEverything(t, {
    database: { driver: 'postgres', url },
    secret: 'a secret of the cluster, long enough for it',
  })
})

// A game is found before the transaction that changes it; its deletion or suspension may commit in between. Every changing
// route is sent a request about a game that ends just before the first transaction. What is refused of such a game when it
// ended before the request is refused then too.
//
// GAMEYARD_SEED repeats the bodies of a run that failed.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type AuthRule, authRequirementOf } from '../../core/http/auth.ts'
import { definePlugin } from '../../core/plugin.ts'
import { plugins as builtins } from '../../plugins/index.ts'
import { callerCheck } from '../../plugins/oauth-idp/players/caller-check.ts'
import { ALL, amount, inFull } from '../kit/extent.ts'
import { type Answer, type Client, type Platform, startPlatform } from '../kit/platform.ts'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'
import { SEED } from '../kit/seed.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { png, sendFile } from '../plugins/games/pictures.ts'
import { signInTo } from '../plugins/multiplayer/kit.ts'
import { hintsOf, operationOf } from './access/requests.ts'
import { inhabit } from './access/world.ts'
import { wellFormedRequestFor } from './fuzz-requests.ts'

const ENDS = ['deleted', 'suspended'] as const
type End = (typeof ENDS)[number]
/** The answers about a game that has ended. Others are about what the first of two requests has done. */
const REFUSALS: Record<End, number[]> = { deleted: [404], suspended: [403, 451] }

const BODIES = amount(1, 8)
/** Routes that can be about a game of the caller. */
const ABOUT_GAMES = /game|deploy|jam|domain|board|draft/
/** Routes that refuse a suspended game. The short form suspends at these only. */
const REFUSES_SUSPENDED = /play-ticket|remix|jam|reports/

/** What made-up bodies seldom get right. */
const BY_HAND: Record<string, (client: Client, gameId: string) => Promise<Answer>> = {
  'PATCH /api/games/:id': (client, id) => client.patch(`/api/games/${id}`, { description: 'Another one.' }),
  'POST /api/games/:id/media': (client, id) => sendFile(client, `/api/games/${id}/media`, png(4, 4)),
  'PUT /api/games/:id/boards/:boardId': (client, id) => client.put(`/api/games/${id}/boards/new`, { title: 'New' }),
  'POST /api/deploy': (client, gameId) =>
    client.post('/api/deploy', { gameId, files: [{ path: 'index.html', size: 1, sha256: 'a'.repeat(64) }] }),
  'POST /api/games/:id/domains': (client, id) => client.post(`/api/games/${id}/domains`, { name: 'pong.example.org' }),
}

/** Ends games at the beginning of the next transaction of a request, as if it had been committed just before. */
function ending() {
  const state = { next: null as { ids: string[]; how: End } | null }
  const plugin = definePlugin({ name: 'ending' }, async (app) => {
    app.addHook('onReady', async () => {
      const check = callerCheck(app.db)
      app.db.checkCallers(async (statements, caller, options) => {
        const ends = state.next
        state.next = null
        const column = ends?.how === 'deleted' ? 'deleted_at' : 'suspended_at'
        for (const id of ends?.ids ?? [])
          await statements.execute(`update games set ${column} = ? where id = ?`, [app.clock.now(), id])
        await check(statements, caller, options)
      })
    })
  })
  return { state, plugin }
}

async function end({ app }: Platform, ids: string[], how: End): Promise<void> {
  for (const id of ids) {
    const { ownerId } = await app.games.get(id)
    if (how === 'deleted') await app.games.remove(ownerId, id)
    else await app.games.suspensions.suspend(id, 'No.')
  }
}

/** Brings games back, whatever a request did to them. */
async function restore({ app }: Platform, ids: string[]): Promise<void> {
  for (const id of ids) {
    await app.db.execute('update games set deleted_at = null, suspended_at = null where id = ?', [id])
    await app.db.execute('update game_slugs set freed_at = null where slug = (select slug from games where id = ?)', [
      id,
    ])
    const [game] = await app.db.query<{ id: string; slug: string }>('select id, slug from games where id = ?', [id])
    if (game) await app.games.announce(game)
  }
}

async function sendEverything(t: Test, config?: Record<string, unknown>) {
  const { state, plugin } = ending()
  const world = await inhabit(t, { plugins: [plugin], ...(config ? { config } : {}) })
  const { owner, platform } = world
  const ids = [owner.game.id, owner.published?.gameId ?? '']
  const wrong: string[] = []
  const reached = new Set<string>()
  for (const route of world.routes) {
    const method = [route.method].flat().find((one) => !['GET', 'HEAD', 'OPTIONS'].includes(one as string)) as string
    const { kinds } = authRequirementOf(route.config?.auth as AuthRule)
    if (!method || kinds.length === 0 || route.config?.role || !ABOUT_GAMES.test(route.url)) continue
    const name = `${method} ${route.url}`
    const client = kinds.includes('session') ? owner.browser : owner.program
    const arbitrary = wellFormedRequestFor(operationOf(route, method), hintsOf(owner, route.url))
    const requests = fc
      .sample(arbitrary, { numRuns: BODIES, seed: SEED })
      .map((sent) => () => client.request(method, sent.url, sent.body, { headers: sent.headers }))
    const byHand = BY_HAND[name]
    if (byHand) requests[0] = () => byHand(owner.program, owner.game.id)
    for (const send of requests) {
      for (const how of ALL || REFUSES_SUSPENDED.test(route.url) ? ENDS : (['deleted'] as const)) {
        state.next = { ids, how }
        const { status } = await send()
        // A request that was refused before has changed nothing.
        if (state.next) continue
        reached.add(name)
        if (status >= 500 && status !== 503) wrong.push(`${name}, ${how}: ${status}`)
        if (status < 400) {
          await restore(platform, ids)
          await end(platform, ids, how)
          const afterwards = await send()
          if (REFUSALS[how].includes(afterwards.status))
            wrong.push(`${name}, ${how}: ${status}, and afterwards ${afterwards.status}`)
        }
        await restore(platform, ids)
      }
    }
    state.next = null
  }
  for (const name of Object.keys(BY_HAND)) t.ok(reached.has(name), `${name} got as far as its transaction`)
  t.ok(reached.size > 20, `${reached.size} routes got as far as their transaction`)
  t.same(wrong, [])
}

/** A player's saves end with the game too. */
async function saveInGame(t: Test, config: Record<string, unknown> = {}) {
  const { state, plugin } = ending()
  const platform = await startPlatform(t, { config, only: [], plugins: [plugin, ...builtins] })
  const game = await platform.game(await platform.signUp())
  const host = platform.gameHost(game.slug)
  const headers = { origin: `http://${host}`, 'content-type': 'application/json' }
  const player = await platform.signUp()
  await signInTo(player, host)
  const save = () => player.put('/__service/saves/slot', '{}', { host, headers })
  for (const [how, status] of [
    ['deleted', 404],
    ['suspended', 451],
  ] as const) {
    state.next = { ids: [game.id], how }
    t.equal((await save()).status, status, `a save: ${how}`)
    t.same(await platform.app.db.query('select * from saves'), [])
  }
  t.equal((await save()).status, 201, 'else it is kept')
}

t.setTimeout(timeLimit(300))
t.test(`a game that ends before the transaction is not changed (seed ${SEED})`, (t) => sendEverything(t))
t.test('nothing is saved in a game that ends before the transaction', (t) => saveInGame(t))
inFull(t)?.test('the same on PostgreSQL', needsPostgres, async (t) => {
  const secret = 'a secret of the cluster, long enough for it'
  const config = async () => ({
    database: { driver: 'postgres', url: await (await startPostgres()).database() },
    secret,
  })
  await sendEverything(t, await config())
  await saveInGame(t, await config())
})

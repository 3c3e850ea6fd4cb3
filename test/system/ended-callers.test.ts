// A caller is checked when the head of a request arrives; the body may come minutes later. Every changing route is sent
// the body of a caller whose account has ended in between, and must leave no row that names the caller.
//
// GAMEYARD_SEED repeats the bodies of a run that failed.
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { type AuthRule, authRequirementOf, type PrincipalKind } from '../../core/http/auth.ts'
import { definePlugin } from '../../core/plugin.ts'
import { plugins as builtins } from '../../plugins/index.ts'
import { ALL, inFull } from '../kit/extent.ts'
import { exchange, obtainCode } from '../kit/oauth.ts'
import { Client, type Platform, startPlatform } from '../kit/platform.ts'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'
import { SEED } from '../kit/seed.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { signInTo } from '../plugins/multiplayer/kit.ts'
import { hintsOf, operationOf } from './access/requests.ts'
import { inhabit, type Owner } from './access/world.ts'
import { wellFormedRequestFor } from './fuzz-requests.ts'

const ENDS = ['deleted', 'disabled'] as const
type End = (typeof ENDS)[number]
/** The short form deletes the account at one route of so many, since it needs somebody new each time. */
const DELETED_EVERY = 12

/** Columns that name a player. */
const NAMES_A_PLAYER = /^(player|owner|reporter|author|actor|source_owner)_id$/

/** Counts the rows that name a player, by table. */
async function rowsOf({ db }: FastifyInstance, playerId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { tableName, props } of db.em().getMetadata().getAll().values()) {
    const columns = props.flatMap(({ fieldNames }) => fieldNames ?? []).filter((name) => NAMES_A_PLAYER.test(name))
    if (columns.length === 0) continue
    const where = columns.map((column) => `${column} = ?`).join(' or ')
    const ids = columns.map(() => playerId)
    const [row] = await db.query<{ n: number }>(`select count(*) as n from ${tableName} where ${where}`, ids)
    counts[tableName] = Number(row?.n)
  }
  return counts
}

/** Ends the account that `next` names after the head of the next request, and notes what is left of it. */
function ending() {
  const state = { next: null as { playerId: string; end: End } | null, left: {} as Record<string, number> }
  const plugin = definePlugin({ name: 'ending' }, async (app) => {
    app.addHook('preParsing', async () => {
      if (!state.next) return
      const { playerId, end } = state.next
      state.next = null
      if (end === 'deleted') await app.identity.deletion.remove(playerId)
      else await app.identity.administration.setDisabled(playerId, true)
      state.left = await rowsOf(app, playerId)
    })
  })
  return { state, plugin }
}

async function sendEverything(t: Test, config?: Record<string, unknown>) {
  const { state, plugin } = ending()
  const world = await inhabit(t, { plugins: [plugin], ...(config ? { config } : {}) })
  const { platform } = world
  const { app } = platform
  const wrong: string[] = []
  let asked = 0
  const compare = async (name: string, playerId: string, end: End, status: number) => {
    t.equal(state.next, null, `${name}: the account ended`)
    await app.identity.signIns.flush()
    const rows = await rowsOf(app, playerId)
    for (const [table, count] of Object.entries(rows))
      if (count > (state.left[table] ?? 0)) wrong.push(`${name}, ${end}: ${status}, a row in ${table}`)
    if (status >= 500 && status !== 503) wrong.push(`${name}, ${end}: ${status}`)
  }
  const changing = world.routes.flatMap((route) => {
    const method = [route.method].flat().find((one) => !['GET', 'HEAD', 'OPTIONS'].includes(one as string))
    const { kinds } = authRequirementOf(route.config?.auth as AuthRule)
    return method && kinds.length > 0 && !route.config?.role ? [{ route, method: method as string, kinds }] : []
  })
  for (const [number, { route, method, kinds }] of changing.entries()) {
    for (const end of ALL ? ENDS : [ENDS[number % DELETED_EVERY === 0 ? 0 : 1]]) {
      // A refused request changes nothing, so whoever was disabled can be enabled again.
      const owner = end === 'disabled' ? world.owner : await world.bystander(route.url)
      const client = await clientOf(platform, owner, kinds)
      const arbitrary = wellFormedRequestFor(operationOf(route, method), hintsOf(owner, route.url))
      const [sent] = fc.sample(arbitrary, { numRuns: 1, seed: SEED })
      if (!sent) continue
      state.next = { playerId: owner.browser.id, end }
      const { status } = await client.request(method, sent.url, sent.body, { headers: sent.headers })
      // A request that was refused at its head ended nothing.
      if (state.next) {
        state.next = null
        continue
      }
      asked++
      await compare(`${method} ${route.url}`, owner.browser.id, end, status)
      if (end === 'deleted') continue
      await app.identity.administration.setDisabled(owner.browser.id, false)
      const { email, password } = owner.browser.account
      const signedIn = await owner.browser.post('/api/auth/sign-in', { email, password })
      if (signedIn.status !== 200) throw new Error(`The sign-in was answered with ${signedIn.status}.`)
    }
  }
  t.ok(asked > changing.length / 2, `${asked} requests of ${changing.length} routes got as far as the body`)
  t.same(wrong, [])
}

/** The client of an owner with a credential that a route accepts. */
async function clientOf(platform: Platform, owner: Owner, kinds: readonly PrincipalKind[]): Promise<Client> {
  if (kinds.includes('session')) return owner.browser
  if (kinds.includes('api-token')) return owner.program
  const { browser, application } = owner
  const { body } = await exchange(platform.stranger, application, await obtainCode(browser, application))
  return new Client(platform.app, body.access_token)
}

const onPostgres = async () => ({
  database: { driver: 'postgres', url: await (await startPostgres()).database() },
  secret: 'a secret of the cluster, long enough for it',
})

/** On a game's own site the player of the game's session is the caller. */
async function saveInGame(t: Test, config: Record<string, unknown> = {}) {
  const { state, plugin } = ending()
  const platform = await startPlatform(t, { config, only: [], plugins: [plugin, ...builtins] })
  const game = await platform.game(await platform.signUp())
  const host = platform.gameHost(game.slug)
  const headers = { origin: `http://${host}`, 'content-type': 'application/json' }
  for (const end of ENDS) {
    const player = await platform.signUp()
    await signInTo(player, host)
    state.next = { playerId: player.id, end }
    t.equal((await player.put('/__service/saves/slot', '{}', { host, headers })).status, 401, `a save: ${end}`)
    t.equal(state.next, null)
    // The sign-in to the game is counted later.
    await platform.app.identity.signIns.flush()
    t.same(await rowsOf(platform.app, player.id), state.left)
    const other = await platform.signUp()
    await signInTo(other, host)
    t.equal((await other.put('/__service/saves/slot', '{}', { host, headers })).status, 201, 'else it is kept')
  }
}

t.setTimeout(timeLimit(300))
t.test(`nothing is made for an account that ends between head and body (seed ${SEED})`, (t) => sendEverything(t))
t.test('nothing is saved in a game for an account that ends between head and body', (t) => saveInGame(t))
inFull(t)?.test('the same on PostgreSQL', needsPostgres, async (t) => {
  await sendEverything(t, await onPostgres())
  await saveInGame(t, await onPostgres())
})

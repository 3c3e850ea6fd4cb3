// Sends well-formed requests with the owner's ids, slugs and addresses to every route as everybody but the makers of the
// owner's game. None of them changes the owner's data, and none but its tester reads it.
//
// GAMEYARD_FUZZ=100 makes 100 requests for each route and caller; GAMEYARD_SEED repeats a run that failed.

import fc from 'fast-check'
import t from 'tap'
import { type AuthRule, authRequirementOf } from '../../core/http/auth.ts'
import { ALL, amount } from '../kit/extent.ts'
import { SEED } from '../kit/seed.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { hintsOf, operationOf } from './access/requests.ts'
import { CALLERS, type Caller, inhabit, SECRET } from './access/world.ts'
import { wellFormedRequestFor } from './fuzz-requests.ts'

const RUNS = Number(process.env.GAMEYARD_FUZZ ?? amount(1, 15))
/** After so many changing routes the owner's things are compared; looking at them costs more than asking a route. */
const COMPARED_EVERY = amount(10, 1)

/** Those who must not get at what is another owner's. The short form asks as them and as one of the others in turn. */
const ALWAYS: readonly Caller[] = ['player', 'other owner']
const ASKING = CALLERS.filter((caller) => caller !== 'maker')
const IN_TURN = ASKING.filter((caller) => !ALWAYS.includes(caller))

t.setTimeout(timeLimit(480 + RUNS * 30))
t.test(`whatever others ask, the owner's things are neither read nor changed (seed ${SEED})`, async (t) => {
  const world = await inhabit(t)
  const before = JSON.stringify(await world.belongings())
  const leaks: string[] = []
  const damage: string[] = []
  let taken = 0
  let since: string[] = []
  const compare = async () => {
    if (JSON.stringify(await world.belongings()) !== before) damage.push(`by one of ${since.join(', ')}`)
    since = []
    return damage.length === 0
  }
  for (const [number, route] of world.routes.entries()) {
    const method = [route.method].flat().find((one) => one !== 'HEAD' && one !== 'OPTIONS')
    if (!method) continue
    const operation = operationOf(route, method)
    const origin = (route.constraints as { origin: string }).origin
    const options = origin === 'game' ? { host: world.platform.gameHost(world.owner.game.slug) } : {}
    const arbitrary = wellFormedRequestFor(operation, hintsOf(world.owner, route.url))
    const { kinds } = authRequirementOf(route.config?.auth as AuthRule)
    const runs = operation.requestBody ? RUNS : operation.parameters?.length ? Math.ceil(RUNS / 2) : 1
    for (const [index, caller] of ASKING.entries()) {
      if (!ALL && !ALWAYS.includes(caller) && caller !== IN_TURN[number % IN_TURN.length]) continue
      // Staff may read and change what these are for.
      if (caller === 'moderator' && route.config?.role === 'moderator') continue
      if (caller === 'administrator' && (route.config?.role || route.url.startsWith('/admin'))) continue
      const { browser, program } = await world.as(caller)
      await world.enlist(caller, world.owner)
      const clients = kinds.length === 0 || kinds.includes('session') ? [browser] : []
      if (kinds.includes('api-token')) clients.push(program)
      for (const { url, headers, body } of fc.sample(arbitrary, { numRuns: runs, seed: SEED + index })) {
        for (const client of clients) {
          const answer = await client.request(method, url, body, { headers, ...options })
          if (answer.status < 400) {
            taken++
            // Only what was done can have ended the caller's session or token.
            if (method !== 'GET') world.doubt(caller)
          }
          // What somebody typed is theirs to see again.
          if (caller !== 'tester' && SECRET.test(answer.text) && !/anzibar/.test(`${url}${body}`))
            leaks.push(`${caller}: ${method} ${url} ${body}`)
          if (answer.status >= 500 && answer.status !== 503) leaks.push(`${answer.status}: ${method} ${url} ${body}`)
        }
      }
    }
    if (method !== 'GET') since.push(`${method} ${route.url}`)
    if (since.length >= COMPARED_EVERY && !(await compare())) break
  }
  if (since.length > 0) await compare()
  t.same(leaks, [], 'nothing private is told')
  t.same(damage, [], 'nothing of the owner has changed')
  t.ok(taken > amount(250, 500), `${taken} requests were taken`)
})

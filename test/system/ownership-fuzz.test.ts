// Sends well-formed requests with the owner's ids, slugs and addresses to every route as everybody but the owner. None
// of them reads the owner's data, and none changes it.
//
// GAMEYARD_FUZZ=100 makes 100 requests for each route and caller; GAMEYARD_SEED repeats a run that failed.

import fc from 'fast-check'
import type { RouteOptions } from 'fastify'
import t from 'tap'
import { type AuthRule, authRequirementOf } from '../../core/http/auth.ts'
import { ALL, amount } from '../kit/extent.ts'
import { SEED } from '../kit/seed.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { CALLERS, type Caller, inhabit, type Owner, parametersOf, SECRET } from './access/world.ts'
import { type Hints, type Operation, type Schema, wellFormedRequestFor } from './fuzz-requests.ts'

const RUNS = Number(process.env.GAMEYARD_FUZZ ?? amount(1, 15))
/** After so many changing routes the owner's things are compared; looking at them costs more than asking a route. */
const COMPARED_EVERY = amount(10, 1)

/** Those who must not get at what is another owner's. The short form asks as them and as one of the others in turn. */
const ALWAYS: readonly Caller[] = ['player', 'other owner']
const IN_TURN = CALLERS.filter((caller) => !ALWAYS.includes(caller))

/** A route as an operation of the OpenAPI document; pages are not in there, and are asked too. */
function operationOf({ url, schema = {}, config }: RouteOptions, method: string): Operation {
  const { params, querystring, body, consumes } = schema as Record<string, Schema> & { consumes?: string[] }
  const type = consumes?.[0] ?? (config?.page ? 'application/x-www-form-urlencoded' : 'application/json')
  const within = (place: string, from: Schema | undefined) =>
    Object.entries(from?.properties ?? {}).map(([name, one]) => ({ in: place, name, schema: one }))
  const inPath = [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    ...{ in: 'path', name, schema: params?.properties?.[name] ?? { type: 'string' } },
  }))
  return {
    method,
    path: url
      .replace(/\(\^.*?\)$/, '')
      .replace(/:(\w+)/g, '{$1}')
      .replace('*', ''),
    parameters: [...inPath, ...within('query', querystring)],
    ...(body ? { requestBody: { content: { [type]: { schema: body } } } } : {}),
    responses: {},
  }
}

/** What the owner has, under each name that a field or a parameter could have for it. */
function hintsOf(owner: Owner, path: string): Hints {
  const { game, application, assetId, jobId, browser, deployId } = owner
  // Of what the owner has published, as of what is private.
  const open = owner.published && {
    ...owner,
    ...{ game: { id: owner.published.gameId, slug: owner.published.gameId }, deployId: owner.published.deployId },
    assetId: owner.published.assetId,
  }
  const meant = [owner, ...(open ? [open] : [])].map((one) => parametersOf(one, path))
  const inPath = Object.fromEntries(Object.keys(meant[0] ?? {}).map((name) => [name, meant.map((one) => one[name])]))
  return {
    ...inPath,
    ...{
      gameId: [game.id, game.slug],
      game: [game.id, game.slug],
      assetId: [assetId],
      asset: [assetId],
      from: [assetId],
    },
    ...{ starterAssets: [[assetId]], starters: [[assetId]], sourceJobId: [jobId], jobId: [jobId], deploy: [deployId] },
    ...{ owner: [browser.id], ownerId: [browser.id], player: [browser.id], playerId: [browser.id], sub: [browser.id] },
    ...{ clientId: [application.clientId], client_id: [application.clientId], email: [browser.account.email] },
    ...{ q: ['Zanzibar', 'zanzibar'], search: ['Zanzibar'], cursor: ['zzz'], limit: [100], id: inPath.id ?? [game.id] },
  }
}

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
    for (const [index, caller] of CALLERS.entries()) {
      if (!ALL && !ALWAYS.includes(caller) && caller !== IN_TURN[number % IN_TURN.length]) continue
      // Staff may read and change what these are for.
      if (caller === 'moderator' && route.config?.role === 'moderator') continue
      if (caller === 'administrator' && (route.config?.role || route.url.startsWith('/admin'))) continue
      const { browser, program } = await world.as(caller)
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
          if (SECRET.test(answer.text) && !/anzibar/.test(`${url}${body}`))
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

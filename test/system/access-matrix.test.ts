// Every route, asked about somebody's private things by the owner and by everybody else: what each is answered.
import t from 'tap'
import { ALL } from '../kit/extent.ts'
import type { Client } from '../kit/platform.ts'
import { MATRIX } from './access/matrix.ts'
import { addressOf, CALLERS, type Caller, inhabit, type Owner, SECRET } from './access/world.ts'

const written = MATRIX.split('\n')
  .filter((line) => /^[A-Z]/.test(line))
  .map((line) => line.split(/ +/).join(' '))

/** The answers that the table has for a route. */
const rows = new Map(
  written.map((row) => {
    const [method, path, ...statuses] = row.split(' ')
    return [`${method} ${path}`, statuses.map(Number)]
  }),
)

/** Those who must not get at what is another owner's are asked about each route; of the others one in turn. */
const ALWAYS: readonly Caller[] = ['nobody', 'other owner']
const IN_TURN = CALLERS.filter((caller) => !ALWAYS.includes(caller))
const asks = (caller: Caller, number: number) =>
  ALL || ALWAYS.includes(caller) || IN_TURN[number % IN_TURN.length] === caller

/** What ends a thing, a session or a token of the caller: the owner who asks for that has no further use. */
const ENDS = /^DELETE|^POST .*\/(delete|revoke|sign-out|revoke-others|logout)$/

t.test(
  'every route answers every caller as the table says, and nobody learns or changes what is private',
  async (t) => {
    const world = await inhabit(t)
    const before = await world.belongings()
    const changing = await world.bystander()
    const seen: string[] = []
    const leaks: string[] = []
    const routes = world.platform.app.routeTable.entries.filter(({ method }) => !['HEAD', 'OPTIONS'].includes(method))
    for (const [number, { method, url: path, origin, accepts }] of routes.entries()) {
      const named = `${method} ${path}`
      const client = accepts.length > 0 && !accepts.includes('session') ? 'program' : 'browser'
      const ask = async (asker: Record<'browser' | 'program', Client>, about: Owner) => {
        const { url, options } = addressOf(world, about, path, origin)
        return asker[client].request(method, url, undefined, options)
      }
      const self = ENDS.test(named) ? await world.bystander(path) : method === 'GET' ? world.owner : changing
      const statuses = [(await ask(self, self)).status]
      for (const [column, caller] of CALLERS.entries()) {
        if (!asks(caller, number)) {
          statuses.push(rows.get(named)?.[column + 1] ?? 0)
          continue
        }
        // What administrators and moderators do to somebody is done, to somebody else.
        const acts = (caller === 'administrator' || caller === 'moderator') && path.startsWith('/admin')
        // A maker may change the game, so the changes of one are asked about somebody else's.
        const about = caller === 'maker' ? method !== 'GET' : acts && path.includes(':')
        const subject = !about ? world.owner : acts || ENDS.test(named) ? await world.bystander(path) : changing
        await world.enlist(caller, subject)
        const answer = await ask(await world.as(caller), subject)
        // Only what was done can have ended the caller's session or token.
        if (method !== 'GET' && answer.status < 400) world.doubt(caller)
        statuses.push(answer.status)
        const mayRead = acts || caller === 'maker' || caller === 'tester'
        if (!mayRead && SECRET.test(answer.text)) leaks.push(`${named}: ${caller}`)
      }
      seen.push(`${named} ${statuses.join(' ')}`)
    }
    const missing = seen.filter((row) => !written.includes(row))
    t.same(missing, [], 'as the program answers, and the table does not say')
    t.same(
      written.filter((row) => !seen.includes(row)),
      [],
      'as the table says, and the program does not answer',
    )
    t.same(leaks, [], 'nobody reads what is private')
    t.same(await world.belongings(), before, 'the owner has what was there before')
  },
)

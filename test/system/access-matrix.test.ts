// Every route, asked about somebody's private things by the owner and by everybody else: what each is answered.
import t from 'tap'
import type { Client } from '../kit/platform.ts'
import { MATRIX } from './access/matrix.ts'
import { addressOf, CALLERS, inhabit, type Owner, SECRET } from './access/world.ts'

const written = MATRIX.split('\n')
  .filter((line) => /^[A-Z]/.test(line))
  .map((line) => line.split(/ +/).join(' '))

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
    for (const { method, url: path, origin, accepts } of world.platform.app.routeTable.entries) {
      if (method === 'HEAD' || method === 'OPTIONS') continue
      const named = `${method} ${path}`
      const client = accepts.length > 0 && !accepts.includes('session') ? 'program' : 'browser'
      const ask = async (asker: Record<'browser' | 'program', Client>, about: Owner) => {
        const { url, options } = addressOf(world, about, path, origin)
        return asker[client].request(method, url, undefined, options)
      }
      const self = ENDS.test(named) ? await world.bystander(path) : method === 'GET' ? world.owner : changing
      const statuses = [(await ask(self, self)).status]
      for (const caller of CALLERS) {
        // What administrators and moderators do to somebody is done, to somebody else.
        const acts = (caller === 'administrator' || caller === 'moderator') && path.startsWith('/admin')
        const answer = await ask(
          await world.as(caller),
          acts && path.includes(':') ? await world.bystander(path) : world.owner,
        )
        // Only what was done can have ended the caller's session or token.
        if (method !== 'GET' && answer.status < 400) world.doubt(caller)
        statuses.push(answer.status)
        if (!acts && SECRET.test(answer.text)) leaks.push(`${named}: ${caller}`)
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

// No cache shows the answer to one caller to another: what depends on the caller is private.
import t from 'tap'
import { addressOf, inhabit } from './access/world.ts'

/** Answers that differ from one moment to the next, whoever asks. */
const CHANGES = ['/metrics']

t.test('what differs between two callers is private', async (t) => {
  const world = await inhabit(t)
  const { platform, owner } = world
  const { browser: nobody } = await world.as('nobody')
  let different = 0
  for (const route of platform.app.routeTable.entries) {
    const { url: path, origin, method } = route
    if (method !== 'GET') continue
    const { url, options } = addressOf(world, owner, path, origin)
    const answers = [await world.read(route), await nobody.get(url, options)] as const
    const caching = answers.map(({ headers }) => headers['cache-control'])
    if (!caching.every(Boolean)) t.fail(`${path}: says nothing about caches`, { caching })
    const [own, foreign] = answers
    if ((own.status === foreign.status && own.text === foreign.text) || CHANGES.includes(path)) continue
    different++
    if (!caching.every((value) => /private|no-store|^no-cache$/.test(String(value))))
      t.fail(`${path}: may be shared`, { caching, statuses: answers.map(({ status }) => status) })
  }
  t.ok(different > 120, 'most of them differ', { different })
})

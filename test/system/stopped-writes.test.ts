// While the last step of a move stops all writes, everything that reads goes on.
import t from 'tap'
import { FolderChannel, StopSender } from '../../core/data/moving/write-stop.ts'
import { inhabit } from './access/world.ts'

t.test('what reads goes on while writes are stopped', async (t) => {
  const world = await inhabit(t)
  const { platform, owner } = world
  const { app, clock } = platform
  const routes = app.routeTable.entries.filter(({ method }) => method === 'GET')
  // What the first answer makes, such as a key or the account of the credits, is there.
  for (const route of routes) await world.read(route)
  await app.db.transaction((em) => app.identity.tell(em, owner.browser.id, 'Hello', 'You.'))
  // A visit is noted to the hour.
  clock.advance(2 * 3_600_000)
  const sender = new StopSender(new FolderChannel(app.config.dataDir), 'move')
  t.same(await sender.stop(10_000), { stopped: 1, silent: 0 })
  const refused: string[] = []
  for (const route of routes) {
    const { status, text } = await world.read(route)
    if (status >= 500 && status !== 501) refused.push(`${route.url}: ${status} ${text.slice(0, 100)}`)
  }
  t.same(refused, [])
  await sender.cancel()
})

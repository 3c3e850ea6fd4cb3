import t from 'tap'
import { openBrowser } from '../kit/browser.ts'
import { openEngine } from '../kit/engines/engine.ts'
import { inFull } from '../kit/extent.ts'
import { startServer } from '../kit/server.ts'
import { checkPages, playFirstGame } from './first-game-steps.ts'

t.test('a newcomer publishes a real game and plays it with a friend', async (t) => {
  const engine = await openEngine(t, 'chromium')
  const browser = await openBrowser(t)
  if (!engine || !browser) return
  const server = await startServer(t)
  await playFirstGame(t, engine, server)

  // portal.test.ts has the short form.
  await inFull(t)?.test('every page reads well, light and dark, on a phone and on a desk', async (t) => {
    await checkPages(t, browser, server, ['/', '/sign-in', '/sign-up', '/games/2048', '/docs/api', '/nowhere'], '')
    await checkPages(
      t,
      browser,
      server,
      [
        '/',
        '/games',
        '/games/new',
        '/games/2048',
        '/games/2048/deploys',
        '/games/2048/settings',
        '/games/2048/integrate',
        '/settings',
        '/settings/tokens',
      ],
      'ada@example.org',
    )
  })

  t.equal(await server.stop(), 0, 'it stops when told to')
})

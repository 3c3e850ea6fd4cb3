// Boards in the engines of Chrome, Firefox and Safari: a page at the game's own address submits and shows scores, and so
// does a frame of the portal.

import t, { type Test } from 'tap'
import { ENGINES, type EngineName, openEngine } from '../../kit/engines/engine.ts'
import { cookiesOf } from '../../kit/engines/pages.ts'
import { startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { BEHIND_PROXY, startTlsProxy } from '../../kit/tls-proxy.ts'
import { deploy } from '../../plugins/game-edge/kit.ts'

const GAME = `<!doctype html><html lang="en"><title>Laps</title><h1>Laps</h1>
<gameyard-board name="laps" limit="3"></gameyard-board><script type="module">
import { board } from '/__service/scores.js'
// A driver waits for expressions, not for promises.
window.submit = (score) => {
  window.answer = undefined
  board('laps').submit(score).then((value) => (window.answer = value), (error) => (window.answer = { error: error.code }))
}
</script></html>`

const SHOWN = `[...document.querySelector('gameyard-board').shadowRoot.querySelectorAll('[part~=entry]')]
  .map((entry) => [...entry.children].map((part) => part.textContent).join(' ')).join(', ')`

async function showsBoards(t: Test, name: EngineName): Promise<void> {
  const engine = await openEngine(t, name)
  if (!engine) return
  const platform = await startPlatform(t, { listen: true, config: BEHIND_PROXY })
  const proxy = await startTlsProxy(t, platform.app.server.address() as { port: number })
  if (!proxy) return
  for (const domain of ['portal.test', 'games.test']) engine.route(domain, proxy.port)
  const ada = await platform.signUp({ name: 'Ada' })
  const bo = await platform.signUp({ name: 'Bo' })
  const game = await platform.game(ada, { title: 'Laps' })
  await deploy(platform, await platform.program(ada), game.id, { 'index.html': GAME })
  const { scores } = platform.app
  await scores.boards.put(game.id, 'laps', { title: 'Laps', order: 'asc', format: 'seconds' })
  await scores.submit({ gameId: game.id, boardId: 'laps', playerId: bo.id, score: 70, writer: 'players' })

  const context = await engine.newContext({ base: platform.portal, cookies: cookiesOf(platform, ada) })
  const page = await context.newPage()
  await page.goto(`${platform.app.origins.game('laps')}/auth/service/start?returnTo=/`)
  await page.waitFor(`(${SHOWN}) === '1 Bo 1:10'`)
  await page.evaluate('void submit(75)')
  await page.waitFor('Boolean(window.answer)')
  t.match(JSON.parse(await page.evaluate<string>('JSON.stringify(answer)')), { rank: 2, total: 2, improved: true })
  await page.waitFor(`(${SHOWN}) === '1 Bo 1:10, 2 Ada 1:15'`)

  await page.goto('/games/laps')
  const frame = page.frame('.play iframe')
  await frame.waitFor("typeof submit === 'function'")
  await frame.evaluate('void submit(65)')
  await frame.waitFor('Boolean(window.answer)')
  t.match(JSON.parse(await frame.evaluate<string>('JSON.stringify(answer)')), { rank: 1, best: 65 }, 'in a frame too')
  await frame.waitFor(`(${SHOWN}) === '1 Ada 1:05, 2 Bo 1:10'`)
}

for (const name of ENGINES) t.test(`${name} shows boards`, { timeout: timeLimit(240) }, (t) => showsBoards(t, name))

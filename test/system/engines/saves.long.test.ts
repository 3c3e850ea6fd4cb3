// Saves in the engines of Chrome, Firefox and Safari: two devices of one player at the game's own address, and a frame
// across sites, where Chrome with third-party cookies off keeps nothing on the device.
import t, { type Test } from 'tap'
import { ENGINES, type EngineName, openEngine } from '../../kit/engines/engine.ts'
import { cookiesOf } from '../../kit/engines/pages.ts'
import { startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { BEHIND_PROXY, startTlsProxy } from '../../kit/tls-proxy.ts'
import { deploy } from '../../plugins/game-edge/kit.ts'

const GAME = `<!doctype html><html lang="en"><title>Saves</title><h1>Saves</h1><script type="module">
import { saves } from '/__service/saves.js'
window.saves = saves
saves.on('conflict', ({ mine, theirs }) => mine + ' and ' + theirs)
// A driver waits for expressions, not for promises.
window.call = (name, ...values) => {
  window.answer = undefined
  saves[name](...values).then((value) => (window.answer = { value }), (error) => (window.answer = { error: String(error) }))
}
</script></html>`

/** A page, or a frame in one. */
interface Frame {
  evaluate<Result>(expression: string): Promise<Result>
  waitFor(expression: string): Promise<unknown>
}

async function call(frame: Frame, expression: string): Promise<unknown> {
  await frame.evaluate(`void call(${expression})`)
  await frame.waitFor('Boolean(window.answer)')
  return JSON.parse(await frame.evaluate<string>('JSON.stringify(window.answer)'))
}

const isSaved = (frame: Frame) => frame.waitFor("saves.status === 'saved'")

async function keepsSaves(t: Test, name: EngineName): Promise<void> {
  const engine = await openEngine(t, name)
  if (!engine) return
  const platform = await startPlatform(t, { listen: true, config: BEHIND_PROXY })
  const proxy = await startTlsProxy(t, platform.app.server.address() as { port: number })
  if (!proxy) return
  for (const domain of ['portal.test', 'games.test']) engine.route(domain, proxy.port)
  const ada = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(ada, { title: 'Duo' })
  await deploy(platform, await platform.program(ada), game.id, { 'index.html': GAME })
  const device = async () => {
    const context = await engine.newContext({ base: platform.portal, cookies: cookiesOf(platform, ada) })
    const page = await context.newPage()
    await page.goto(`${platform.app.origins.game('duo')}/auth/service/start?returnTo=/`)
    await page.waitFor('Boolean(window.saves)')
    return page
  }
  const [one, two] = [await device(), await device()]
  t.same(await call(one, "'set', 'a', { level: 1 }"), {})
  await isSaved(one)
  t.same(await call(two, "'get', 'a'"), { value: { level: 1 } }, 'the other device reads it')
  await call(one, "'set', 'a', 'one'")
  await isSaved(one)
  await call(two, "'set', 'a', 'two'")
  await isSaved(two)
  t.same(await call(one, "'get', 'a'"), { value: 'two and one' }, 'and the game decides a conflict')
  const versions = await platform.app.saves.versions({ gameId: game.id, playerId: ada.id }, 'a')
  t.equal(versions.length, 4, 'with both values on the server')

  const context = await engine.newContext({ base: platform.portal, cookies: cookiesOf(platform, ada) })
  const page = await context.newPage()
  await page.goto('/games/duo')
  const frame = page.frame('.play iframe')
  await frame.waitFor('Boolean(window.saves)')
  t.same(await call(frame, "'get', 'a'"), { value: 'two and one' }, 'a frame of the portal has it too')
  await call(frame, "'set', 'a', 'in a frame'")
  await isSaved(frame)
  t.same(await call(two, "'get', 'a'"), { value: 'in a frame' })
}

for (const name of ENGINES) t.test(`${name} keeps saves`, { timeout: timeLimit(240) }, (t) => keepsSaves(t, name))

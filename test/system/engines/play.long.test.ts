// The play page in the engines of Chrome, Firefox and Safari: the game in its frame, and its player signed in there, on
// http, on https across sites and in the LAN mode. In the short form test/clients/browser.test.ts does it in Chromium.
import t, { type Test } from 'tap'
import { ENGINES, type Engine, openEngine } from '../../kit/engines/engine.ts'
import { cookiesOf } from '../../kit/engines/pages.ts'
import { type Platform, startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { BEHIND_PROXY, startTlsProxy } from '../../kit/tls-proxy.ts'
import { deploy } from '../../plugins/deploy/build.ts'

const GAME = `<!doctype html><html lang="en"><title>Duo</title><h1>A game</h1><p id="who">…</p>
<script type="module">
  const { signedIn, user } = await (await fetch('/auth/service/session')).json()
  who.textContent = signedIn ? 'You are ' + user.name + '.' : 'You are signed out.'
</script></html>`

/** Firefox says aloud how it is found out that a frame over plain http keeps no cookie. */
const EXPECTED = /Cookie “gameyard_game_\d+” has been rejected because it is in a cross-site context/

interface Mode {
  /** On one site the frame's cookie is that of the game at its own address as well. */
  oneSite?: boolean
}

async function playsFramed(t: Test, engine: Engine, platform: Platform, { oneSite = false }: Mode = {}): Promise<void> {
  const ada = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(ada, { title: 'Duo' })
  await deploy(platform, await platform.program(ada), game.id, { 'index.html': GAME })
  const context = await engine.newContext({ base: platform.portal, cookies: cookiesOf(platform, ada) })
  const page = await context.newPage()
  const frame = page.frame('.play iframe')
  await page.goto('/games/duo')
  await frame.see({ text: 'You are Ada.' })
  t.pass('signed in in the frame, without a press')
  const complaints = page.complaints.filter((text) => !EXPECTED.test(text))
  t.same(complaints, [], 'nothing is wrong')

  await page.goto(platform.app.origins.game('duo'))
  if (oneSite) {
    await page.see({ text: 'You are Ada.' })
    t.pass('and so is the game at its own address')
  } else {
    await page.see({ text: 'You are signed out.' })
    t.pass('what the frame knows is of the frame')
    await page.click({ link: /sign in/i })
    await page.see({ text: 'You are Ada.' })
    t.pass('at its own address one press does it')
  }
  await context.close()

  const stranger = await (await engine.newContext({ base: platform.portal })).newPage()
  await stranger.goto('/games/duo')
  await stranger.frame('.play iframe').see({ text: 'You are signed out.' })
  t.pass('somebody without an account plays signed out')
}

for (const name of ENGINES) {
  t.test(`${name} plays framed`, { timeout: timeLimit(240) }, async (t) => {
    const engine = await openEngine(t, name)
    if (!engine) return
    await t.test('on http://localhost', async (t) => {
      await playsFramed(t, engine, await startPlatform(t, { listen: true }))
    })
    await t.test('on https, across sites', async (t) => {
      const platform = await startPlatform(t, { listen: true, config: BEHIND_PROXY })
      const proxy = await startTlsProxy(t, platform.app.server.address() as { port: number })
      if (!proxy) return
      for (const domain of ['portal.test', 'games.test']) engine.route(domain, proxy.port)
      await playsFramed(t, engine, platform)
    })
    for (const https of [false, true])
      await t.test(`in the LAN mode, on ${https ? 'https' : 'http'}, a port each`, async (t) => {
        const lan = { enabled: true, address: '127.0.0.1', name: 'yard', https }
        await playsFramed(t, engine, await startPlatform(t, { listen: true, config: { lan } }), { oneSite: true })
      })
  })
}

// A platform moves; players sign in, framed and not, to games that were made wherever it was before.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { ENGINES, type Engine, openEngine } from '../../kit/engines/engine.ts'
import { cookiesOf } from '../../kit/engines/pages.ts'
import { ALL, amount } from '../../kit/extent.ts'
import { PASSWORD, type Platform, PlayerClient, startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { BEHIND_PROXY, startTlsProxy } from '../../kit/tls-proxy.ts'
import { deploy } from '../../plugins/deploy/build.ts'

const GAME = `<!doctype html><html lang="en"><title>Duo</title><h1>A game</h1><p id="who">…</p>
<script type="module">
  const { signedIn, user } = await (await fetch('/auth/service/session')).json()
  who.textContent = signedIn ? 'You are ' + user.name + '.' : 'You are signed out.'
</script></html>`

const ACCOUNT = { name: 'Ada', email: 'ada@example.org', password: PASSWORD }
const LAN = { lan: { enabled: true, address: '127.0.0.1', name: 'yard' } }
const STEPS: { name: string; config: Record<string, unknown>; oneSite?: true }[] = [
  { name: 'this machine', config: {} },
  { name: 'a LAN', config: LAN, oneSite: true },
  { name: 'https names', config: BEHIND_PROXY },
  { name: 'a LAN again', config: LAN, oneSite: true },
  { name: 'this machine again', config: {} },
]

/** A player comes to a game on the portal's page, then at its own address. */
async function play(engine: Engine, platform: Platform, ada: PlayerClient, slug: string, oneSite = false) {
  const context = await engine.newContext({ base: platform.portal, cookies: cookiesOf(platform, ada) })
  const page = await context.newPage()
  await page.goto(`/games/${slug}`)
  await page.frame('.play iframe').see({ text: 'You are Ada.' })
  await page.goto(platform.app.origins.game(slug))
  if (!oneSite) {
    await page.see({ text: 'You are signed out.' })
    await page.click({ link: /sign in/i })
  }
  await page.see({ text: 'You are Ada.' })
  await context.close()
}

for (const name of ALL ? ENGINES : (['chromium'] as const)) {
  t.test(`${name}: sign-in goes along`, { timeout: timeLimit(400) }, async (t) => {
    const engine = await openEngine(t, name)
    if (!engine) return
    const folder = mkdtempSync(join(tmpdir(), 'gameyard-moves-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const slugs: string[] = []
    for (const [number, { name: where, config, oneSite }] of STEPS.slice(0, amount(2, STEPS.length)).entries()) {
      const kept = { dataDir: join(folder, 'data'), database: { driver: 'sqlite' } }
      const platform = await startPlatform(t, { listen: true, config: { ...kept, ...config } })
      if (config === BEHIND_PROXY) {
        const proxy = await startTlsProxy(t, platform.app.server.address() as { port: number })
        if (!proxy) return
        for (const domain of ['portal.test', 'games.test']) engine.route(domain, proxy.port)
      }
      const ada = number === 0 ? await platform.signUp(ACCOUNT) : new PlayerClient(platform.app, ACCOUNT)
      if (number > 0) await ada.post('/api/auth/sign-in', { email: ACCOUNT.email, password: PASSWORD })
      const game = await platform.game(ada, { title: `Step ${number}` })
      await deploy(platform, await platform.program(ada), game.id, { 'index.html': GAME })
      slugs.push(game.slug)
      for (const slug of slugs) {
        await play(engine, platform, ada, slug, oneSite)
        t.pass(`at ${where}: ${slug}, framed and at its own address`)
      }
      await platform.app.close()
    }
  })
}

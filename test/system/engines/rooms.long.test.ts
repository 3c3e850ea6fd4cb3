// A room of three engines: each player sees the others, and hears what they say and set, framed by the portal.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { keepPace } from '../../kit/driver-context.ts'
import { ENGINES, openEngine } from '../../kit/engines/engine.ts'
import type { EngineFrame } from '../../kit/engines/page.ts'
import { cookiesOf } from '../../kit/engines/pages.ts'
import { startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { BEHIND_PROXY, startTlsProxy } from '../../kit/tls-proxy.ts'
import { deploy } from '../../plugins/game-edge/kit.ts'

const DUO = join(import.meta.dirname, '../../fixtures/games/duo')

t.test(
  'Chromium, Firefox and WebKit play in one room, each in its frame across sites',
  { timeout: timeLimit(240) },
  async (t) => {
    const engines = await Promise.all(ENGINES.map((name) => openEngine(t, name)))
    const platform = await startPlatform(t, { listen: true, config: BEHIND_PROXY })
    const proxy = await startTlsProxy(t, platform.app.server.address() as { port: number })
    if (!proxy) return
    // Rooms count messages against the time, which stands still in tests.
    keepPace(t, platform.clock)
    const owner = await platform.signUp({ name: 'Ada' })
    const game = await platform.game(owner, { title: 'Duo' })
    const files: Record<string, Buffer> = {}
    for (const name of await readdir(DUO)) files[name] = await readFile(join(DUO, name))
    await deploy(platform, await platform.program(owner), game.id, files)

    const players: { name: string; frame: EngineFrame }[] = []
    for (const engine of engines) {
      // Skipped, and said so.
      if (!engine) return
      for (const domain of ['portal.test', 'games.test']) engine.route(domain, proxy.port)
      const player = await platform.signUp({ name: engine.name })
      const context = await engine.newContext({ base: platform.portal, cookies: cookiesOf(platform, player) })
      const page = await context.newPage()
      await page.goto('/games/duo')
      const frame = page.frame('.play iframe')
      await frame.waitFor('Boolean(window.duo?.room)')
      await frame.evaluate(`void duo.room.on('message', (type, data, from) => {
      if (type === 'hello') (window.received ??= []).push(from.name + ' says ' + data)
    })`)
      players.push({ name: engine.name, frame })
    }
    const names = ENGINES.toSorted()
    for (const { name, frame } of players) {
      await frame.waitFor('duo.room.players.length === 3')
      const seen = await frame.evaluate<string[]>('duo.room.players.map((player) => player.name)')
      t.same(seen.toSorted(), names, `${name} sees who is there`)
    }
    for (const { name, frame } of players) {
      await frame.evaluate(`void duo.room.send('hello', 'hello from ${name}')`)
      await frame.evaluate(`void duo.room.state.set('${name}', true)`)
    }
    for (const { name, frame } of players) {
      await frame.waitFor('window.received?.length === 2')
      const others = names.filter((other) => other !== name).map((other) => `${other} says hello from ${other}`)
      t.same((await frame.evaluate<string[]>('received')).toSorted(), others, `${name} hears the others`)
      await frame.waitFor(`${JSON.stringify(names)}.every((one) => duo.room.state.get(one) === true)`)
      t.pass(`${name} has the state that they share`)
    }
  },
)

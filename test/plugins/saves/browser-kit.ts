import type { BrowserContext, Page } from 'playwright-core'
import type { Test } from 'tap'
import type { Saves } from '../../../clients/browser/saves.ts'
import { type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { deploy } from '../game-edge/kit.ts'
import { signInTo } from '../multiplayer/kit.ts'

declare global {
  /** The page's own. */
  var saves: Saves
}

const INDEX = `<!doctype html><title>Saves</title><link rel="icon" href="data:,"><script type="module">
import { saves } from '/__service/saves.js'
window.saves = saves
window.events = []
const names = ['status', 'change', 'error', 'elsewhere'].filter((name) => name !== 'change' || location.hash !== '#deaf')
for (const name of names) saves.on(name, (value) => events.push([name, value]))
</script>`

/**
 * A game whose page has its saves in `window.saves`, and what happened in `window.events`. With the fragment `#deaf` it
 * does not listen to changes of other tabs.
 */
export async function startGame(t: Test, options: Parameters<typeof startPlatform>[1] = {}) {
  const platform = await startPlatform(t, { listen: true, ...options })
  const owner = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(owner, { title: 'Pong' })
  await deploy(platform, await platform.program(owner), game.id, { 'index.html': INDEX })
  return { platform, app: platform.app, owner, game, url: platform.app.origins.game(game.slug) }
}

export type Playground = Awaited<ReturnType<typeof startGame>>

/** Signs a player in to the game in a browser. */
export async function signIn({ url }: Playground, context: BrowserContext, player: PlayerClient) {
  const { host } = new URL(url)
  await signInTo(player, host)
  await context.addCookies([...player.cookiesOf(host)].map(([name, value]) => ({ name, value, url })))
}

/** Opens the game. */
export async function openGame(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.waitForFunction(() => 'saves' in window)
}

export const saved = (page: Page) => page.waitForFunction(() => saves.status === 'saved')

/** Returns what the server has of a player. */
export async function onServer({ app, game }: Playground, player: { id: string }): Promise<Record<string, string>> {
  const owner = { gameId: game.id, playerId: player.id }
  const { saves: list } = await app.saves.list(owner)
  const values: Record<string, string> = {}
  for (const { key } of list) values[key] = (await (await app.saves.find(owner, key)).read()).toString()
  return values
}

/** Returns the kept values of a key on the server, newest first. */
export async function versionsOnServer({ app, game }: Playground, { id }: { id: string }, key: string) {
  const rows = await app.db.query<{ value: Buffer }>(
    'select value from save_versions where game_id = ? and player_id = ? and key = ? order by version desc',
    [game.id, id, key],
  )
  return rows.map(({ value }) => Buffer.from(value).toString())
}

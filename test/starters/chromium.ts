import type { Page } from 'playwright-core'
import { timeLimit } from '../kit/time-limit.ts'
import type { Player } from './scenes.ts'

/** The hands of a player at a page of Chromium: real keys and touches, as the browser gets them from the system. */
export async function playerAt(page: Page): Promise<Player> {
  const session = await page.context().newCDPSession(page)
  const dispatch = (type: 'touchStart' | 'touchEnd', touchPoints: { x: number; y: number }[]) =>
    session.send('Input.dispatchTouchEvent', { type, touchPoints })
  let touching = false
  const lift = async () => {
    if (touching) await dispatch('touchEnd', [])
    touching = false
  }
  return {
    run: (expression) => page.evaluate(`void (${expression})`),
    read: (expression) => page.evaluate(expression),
    see: (expression) => page.waitForFunction(expression, undefined, { timeout: timeLimit(120) }),
    hold: (code) => page.keyboard.down(code),
    release: (code) => page.keyboard.up(code),
    async touch(selector, x, y) {
      await lift()
      const box = await page.locator(selector).boundingBox()
      if (!box) throw new Error(`There is no ${selector} to touch.`)
      await dispatch('touchStart', [{ x: box.x + box.width * x, y: box.y + box.height * y }])
      touching = true
    },
    lift,
    trusted: true,
    reload: async () => {
      await page.reload()
    },
  }
}

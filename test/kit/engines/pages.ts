import type { Client, Platform } from '../platform.ts'
import type { Target } from '../targets.ts'
import type { Cookie } from './driver.ts'
import type { EnginePage } from './page.ts'

/** The cookies with which a player is signed in at the portal. */
export const cookiesOf = (platform: Platform, player: Client | null): Cookie[] =>
  [...(player?.cookiesOf() ?? [])].map(([name, value]) => ({ name, value, url: platform.portal }))

/** Opens a page, or sends its form, as somebody would, until all of it is loaded, its letters too. */
export async function openTarget(page: EnginePage, target: Target): Promise<void> {
  const { path, fill = {}, press } = typeof target === 'string' ? { path: target, press: null } : target
  await page.goto(path)
  if (press !== null) {
    // What the browser would refuse by itself is to come back from the server.
    await page.evaluate(() => {
      for (const form of document.forms) form.noValidate = true
      Object.assign(window, { answered: false })
    })
    for (const [label, text] of Object.entries(fill)) await page.fill({ label }, text)
    await page.click({ button: press })
    await page.waitFor("!('answered' in window) && document.readyState === 'complete'")
  }
  await page.evaluate('document.fonts.ready.then(() => true)')
}

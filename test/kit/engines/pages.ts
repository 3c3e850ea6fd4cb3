import type { Client, Platform } from '../platform.ts'
import type { Target } from '../targets.ts'
import type { Cookie } from './driver.ts'
import type { EnginePage } from './page.ts'

/** Returns the cookies of a player's session at the portal. */
export const cookiesOf = (platform: Platform, player: Client | null): Cookie[] =>
  [...(player?.cookiesOf() ?? [])].map(([name, value]) => ({ name, value, url: platform.portal }))

/** Opens a page, or submits its form, and waits until everything is loaded, including fonts. */
export async function openTarget(page: EnginePage, target: Target): Promise<void> {
  const { path, fill = {}, press } = typeof target === 'string' ? { path: target, press: null } : target
  await page.goto(path)
  if (press !== null) {
    // Browser validation is off, so that the server receives and refuses invalid input.
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

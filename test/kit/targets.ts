import type { Page } from 'playwright-core'

/** What answers a form: the page that it is on, what is filled in by label, and the button that sends it. */
export interface FormAnswer {
  path: string
  fill?: Record<string, string>
  press: string
}

/** What there is to look at: a page by its address, or what answers a form. */
export type Target = string | FormAnswer

export const nameOf = (target: Target): string =>
  typeof target === 'string' ? target : `${target.path} ${target.press}${target.fill ? ' (filled in)' : ''}`

/** Opens it as somebody would, until all of it is loaded. */
export async function openTarget(page: Page, target: Target): Promise<void> {
  const { path, fill = {}, press } = typeof target === 'string' ? { path: target, press: null } : target
  await page.goto(path, { waitUntil: 'load' })
  if (press === null) return
  // What the browser would refuse by itself is to come back from the server.
  await page.evaluate(() => {
    for (const form of document.forms) form.noValidate = true
  })
  for (const [label, text] of Object.entries(fill)) await page.getByLabel(label, { exact: true }).fill(text)
  const loaded = page.waitForEvent('load')
  await page.getByRole('button', { name: press, exact: true }).click()
  await loaded
}

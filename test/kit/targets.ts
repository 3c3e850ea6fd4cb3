import type { Page } from 'playwright-core'

/** What answers a form: the page that it is on, what is filled in by label, the button that sends it, and the status. */
export interface FormAnswer {
  path: string
  fill?: Record<string, string>
  press: string
  status: number
}

/** What there is to look at: a page by its address, or what answers a form. */
export type Target = string | FormAnswer

export const nameOf = (target: Target): string =>
  typeof target === 'string' ? target : `${target.path} ${target.press}${target.fill ? ' (filled in)' : ''}`

/** Opens it as somebody would, until all of it is loaded. @returns the status of what came last */
export async function openTarget(page: Page, target: Target): Promise<number | undefined> {
  const { path, fill = {}, press } = typeof target === 'string' ? { path: target, press: null } : target
  const opened = await page.goto(path, { waitUntil: 'load' })
  if (press === null) return opened?.status()
  // What the browser would refuse by itself is to come back from the server.
  await page.evaluate(() => {
    for (const form of document.forms) form.noValidate = true
  })
  for (const [label, text] of Object.entries(fill)) await page.getByLabel(label, { exact: true }).fill(text)
  const loaded = page.waitForEvent('load')
  const answered = page.waitForResponse(
    (response) => response.request().isNavigationRequest() && (response.status() < 300 || response.status() >= 400),
  )
  await page.getByRole('button', { name: press, exact: true }).click()
  const [answer] = await Promise.all([answered, loaded])
  return answer.status()
}

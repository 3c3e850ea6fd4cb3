import type { Page } from 'playwright-core'

/** A form submission: its page, the values by label, the submit button, and the expected status. */
export interface FormAnswer {
  path: string
  fill?: Record<string, string>
  press: string
  status: number
}

/** A page by its address, or a form submission. */
export type Target = string | FormAnswer

export const nameOf = (target: Target): string =>
  typeof target === 'string' ? target : `${target.path} ${target.press}${target.fill ? ' (filled in)' : ''}`

/** Opens a page or submits its form, and waits until everything is loaded. @returns the status of the last response */
export async function openTarget(page: Page, target: Target): Promise<number | undefined> {
  const { path, fill = {}, press } = typeof target === 'string' ? { path: target, press: null } : target
  const opened = await page.goto(path, { waitUntil: 'load' })
  if (press === null) return opened?.status()
  // Browser validation is off, so that the server receives and refuses invalid input.
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

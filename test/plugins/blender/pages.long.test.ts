// Tests the pages of Blender jobs in a real browser: a form generated from a template's schema, live progress, the
// finished job.
import t from 'tap'
import { settled } from '../../kit/blender.ts'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { hasPrograms } from '../../kit/components.ts'
import { startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'

t.test('a job is made from a template, followed live, and looked at', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true, config: { blender: { driver: 'subprocess' } } })
  const owner = await platform.signUp()
  const { page, context, complaints } = await openPage(browser, { viewport: { width: 1280, height: 900 } })
  const [name, value] = [...owner.cookiesOf()][0] as [string, string]
  await context.addCookies([{ name, value, url: platform.portal }])
  const look = async (title: string) => {
    for (const [width, colorScheme] of [
      [1280, 'light'],
      [390, 'dark'],
    ] as const) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await screenshot(page, `blender-${title}-${width}-${colorScheme}`)
      await expectNoOverflow(t, page, `${title} fits ${width}`)
      await expectNoAxeViolations(t, page, `${title} at ${width}, ${colorScheme}: axe-core finds nothing`)
    }
  }

  await page.goto(`${platform.portal}/blender`)
  await look('empty')
  await page.getByRole('link', { name: 'Use it: Collectible' }).click()
  await look('new')
  await page.getByLabel('Kind').selectOption('star')
  await page.getByLabel('Colour', { exact: true }).fill('gold')
  await page.getByRole('button', { name: 'Queue the job' }).click()
  t.equal(new URL(page.url()).pathname, '/blender/new', 'the browser itself refuses what is no colour')
  await page.getByLabel('Colour', { exact: true }).fill('#d0a020')
  const script = page.getByRole('textbox', { name: 'Script' })
  await page.locator('.editor').scrollIntoViewIfNeeded()
  await page.locator('.editor .cm-content').waitFor()
  await script.click()
  await page.keyboard.type("def hello():\njob.log('from the page')\n")
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.type('hello()')
  t.equal(await page.inputValue('textarea[name=script]'), "def hello():\n    job.log('from the page')\nhello()")
  t.ok(await page.locator('.editor .cm-line span[class]').count(), 'Python is in colours')
  await look('script')
  const { promise: looked, resolve: goOn } = Promise.withResolvers<void>()
  // The end of the job reloads the page, which must not happen while it is looked at.
  await page.route(/\/blender\/jobs\/[^/]+\/events$/, async (route) => {
    await looked
    await route.continue()
  })
  await page.getByRole('button', { name: 'Queue the job' }).click()
  await page.waitForURL(/\/blender\/jobs\/job_/)
  await look('live')
  goOn()
  const id = page.url().split('/').at(-1) as string
  t.match(await settled(await platform.program(owner), id), { status: 'completed', error: null })
  await page.getByText('model.glb', { exact: true }).waitFor()
  t.match(await page.textContent('main'), /completed[\s\S]*model\.glb[\s\S]*triangles[\s\S]*from the page/)
  const preview = await context.request.get(`${platform.portal}/blender/jobs/${id}/files/preview.png`)
  t.match(preview.headers(), { 'content-type': 'image/png', 'content-security-policy': /sandbox/ })
  await page.locator('[data-shown$="model.glb"]').waitFor({ timeout: timeLimit() })
  await look('job')

  await page.getByRole('button', { name: 'Queue the revision' }).scrollIntoViewIfNeeded()
  await page.locator('.editor .cm-content').waitFor()
  await script.fill('nothing_like_this()')
  await page.getByRole('button', { name: 'Queue the revision' }).click()
  await page.waitForURL((url) => /\/blender\/jobs\/job_/.test(url.pathname) && !url.pathname.endsWith(id))
  const revision = page.url().split('/').at(-1) as string
  t.match(await settled(await platform.program(owner), revision), { status: 'failed' })
  await page.getByText('NameError').first().waitFor()
  t.equal(await page.inputValue('textarea[name=script]'), 'nothing_like_this()', 'to be mended and sent again')
  await look('failed')
  await page.goto(`${platform.portal}/blender/jobs/${id}`)
  await page.getByRole('link', { name: 'Create another like it' }).click()
  t.equal(await page.inputValue('select[name="p.kind"]'), 'star', 'another like it begins as the first was submitted')
  t.equal(await page.inputValue('input[name="p.color"]'), '#d0a020')
  t.match(await page.inputValue('textarea[name=script]'), /from the page/)

  const plain = await openPage(browser, { javaScriptEnabled: false })
  await plain.context.addCookies([{ name, value, url: platform.portal }])
  await plain.page.goto(`${platform.portal}/blender/new`)
  await plain.page.getByLabel('Name').fill('By hand')
  await plain.page.getByLabel('Script').fill('pass')
  await plain.page.getByRole('button', { name: 'Queue the job' }).click()
  await plain.page.waitForURL(/\/blender\/jobs\/job_/)
  await page.goto(`${platform.portal}/blender`)
  await look('list')
  // The viewer and the driver log these on a busy machine or without a graphics card.
  const real = complaints.filter((text) => !/GPU stall due to ReadPixels|rAF timed out/.test(text))
  t.same(real, [])
})

// The pages of Blender jobs in a real browser: a form made of a template's schema, live progress, the finished job.
import t from 'tap'
import { hasPrograms } from '../../kit/blender.ts'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { startPlatform } from '../../kit/platform.ts'

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
  await page.getByLabel('Script').fill("job.log('from the page')")
  await page.getByRole('button', { name: 'Queue the job' }).click()
  await page.waitForURL(/\/blender\/jobs\/job_/)
  await page.getByRole('img', { name: 'Preview of Collectible' }).waitFor({ timeout: 120_000 })
  t.match(await page.textContent('main'), /completed[\s\S]*model\.glb[\s\S]*triangles[\s\S]*from the page/)
  t.ok(
    await page.evaluate(() => document.querySelector<HTMLImageElement>('img.preview')?.naturalWidth === 512),
    'the preview is shown',
  )
  await look('job')
  await page.goto(`${platform.portal}/blender`)
  await look('list')
  t.same(complaints, [])
})

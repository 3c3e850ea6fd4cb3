import { resolve } from 'node:path'
import t from 'tap'
import { openBrowser, openPage } from '../../kit/browser.ts'
import { startPlatform } from '../../kit/platform.ts'
import { build, deploy } from '../deploy/build.ts'

const fixture = (name: string) => resolve(import.meta.dirname, '../../fixtures/media', name)

t.test('pictures are uploaded in a browser and shown, on an isolated page too', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player, { settings: { crossOriginIsolated: true } })
  await deploy(platform, program, game.id, build('one'))
  const { page, context, complaints } = await openPage(browser, { baseURL: platform.portal })
  const cookies = [...player.cookiesOf()].map(([name, value]) => ({ name, value, url: platform.portal }))
  await context.addCookies(cookies)

  await page.goto('/games/pong/settings')
  await page.setInputFiles('input[type=file]', [fixture('photo.jpg'), fixture('clip.webm'), fixture('clip.mp4')])
  await page.click('.drop button')
  await page.waitForSelector('.shelf li:nth-child(3)')
  t.equal(await page.locator('.flash').textContent(), 'Saved.')
  t.match((await program.get(`/api/games/${game.id}`)).body.media, [
    { kind: 'image' },
    { kind: 'video' },
    { kind: 'video' },
  ])

  await page.setInputFiles('input[type=file]', {
    name: 'cover.png',
    mimeType: 'image/png',
    buffer: Buffer.from('<svg/>'),
  })
  await page.click('.drop button')
  await page.waitForSelector('.drop [role=alert]:not([hidden])')
  t.match(await page.locator('.drop [role=alert]').textContent(), /^cover\.png: This is not a PNG/)
  t.ok(await page.locator('.drop button').isEnabled(), 'and can be tried again')

  // The test drops a file object like the browser's.
  const dropped = await page.evaluateHandle(async () => {
    const canvas = document.createElement('canvas')
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done))
    const transfer = new DataTransfer()
    transfer.items.add(new File([blob as Blob], 'dropped.png'))
    return transfer
  })
  await page.dispatchEvent('.drop', 'drop', { dataTransfer: dropped })
  await page.waitForSelector('.shelf li:nth-child(4)')

  complaints.length = 0
  await page.goto('/games/pong')
  t.equal(await page.evaluate('crossOriginIsolated'), true)
  await page.locator('.gallery').scrollIntoViewIfNeeded()
  await page.waitForFunction(() => {
    const [image, video, film] = document.querySelectorAll<HTMLImageElement | HTMLVideoElement>(
      '.gallery img, .gallery video',
    )
    return (
      (image as HTMLImageElement).naturalWidth === 64 &&
      (video as HTMLVideoElement).readyState >= 1 &&
      (film as HTMLVideoElement).videoWidth === 64
    )
  })
  t.same(complaints, [])
})

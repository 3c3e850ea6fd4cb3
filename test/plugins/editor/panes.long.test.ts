// What the page Code has beside the text: the library of assets, models, and the log of the room script.
import t, { type Test } from 'tap'
import {
  expectNoAxeViolations,
  expectNoOverflow,
  openBrowser,
  SOFTWARE_GRAPHICS,
  screenshot,
} from '../../kit/browser.ts'
import { startPlatform } from '../../kit/platform.ts'
import { signedIn } from '../../kit/portal-pages.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { form } from '../assets/kit.ts'
import { sheet } from '../assets/models.ts'

t.setTimeout(timeLimit(600))

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

/** Makes a game of a starter, on a platform that listens. */
async function withGame(t: Test, starter: string) {
  const platform = await startPlatform(t, { listen: true })
  const player = await platform.signUp({ name: 'Ada' })
  await player.submit('/games/new/starter', { starter, title: 'Pond' })
  const fileAt = (path: string) => `/api/games/pond/draft/files/${encodeURIComponent(path)}`
  const textOf = async (path: string) => (await player.get(fileAt(path))).text
  const save = (path: string, content: Buffer | string) =>
    player.put(fileAt(path), Buffer.from(content), { headers: { 'content-type': 'application/octet-stream' } })
  const upload = async (file: Buffer, name: string, fields: Record<string, string>) => {
    const { payload, headers } = form(file, { visibility: 'public', ...fields }, name)
    const { status, body } = await player.post('/api/assets', payload, { headers })
    if (status !== 201) throw new Error(`The upload was answered with ${status}.`)
    return body
  }
  return { platform, player, textOf, save, upload }
}

t.test('an asset is found, and its address is inserted where a game can load it', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { platform, player, textOf, save, upload } = await withGame(t, 'page')
  await upload(await sheet(4), 'sea.glb', { title: 'Wavy sea' })
  await upload(PIXEL, 'dot.gif', { title: 'Small dot', license: 'CC-BY-4.0', author: 'Kit' })
  await upload(await sheet(4), 'secret.glb', { title: 'Wavy secret', visibility: 'private' })
  await save('scene.js', 'const sea = \nconst dot = ""\n')
  for (const width of [390, 1280]) {
    const { page, context, complaints } = await signedIn(browser, platform.portal, player, {
      colorScheme: width === 390 ? 'dark' : 'light',
      viewport: { width, height: 844 },
      hasTouch: width === 390,
    } as const)
    page.setDefaultTimeout(120_000)
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    await page.goto('/games/pond/code')
    await page.locator('.cm-content').waitFor()
    if (width === 390) await button('Files').click()
    await page.locator('.code-tree').getByRole('button', { name: 'scene.js' }).click()
    await page.locator('.cm-content[aria-label="scene.js"]').click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('End')

    await button('Assets').click()
    await button('Insert Small dot').waitFor()
    await page.getByRole('searchbox', { name: 'Search assets' }).fill('wav')
    await page.keyboard.press('Enter')
    await button('Insert Small dot').waitFor({ state: 'detached' })
    t.equal(await button('Insert Wavy secret').count(), 0, 'a private asset would not load in a game')
    await expectNoAxeViolations(t, page, `axe-core finds nothing at ${width}`)
    await expectNoOverflow(t, page, `nothing sticks out at ${width}`)
    await screenshot(page, `code-assets-${width}`)
    await button('Insert Wavy sea').click()
    await page.locator('.cm-line', { hasText: "const sea = '/__service/assets/wavy-sea.glb'" }).waitFor()
    t.pass('code gets it as a string')

    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowLeft')
    if (width === 390) await button('Assets').click()
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('Pictures')
    await page.getByText('Nothing matches.').waitFor()
    await page.getByRole('searchbox', { name: 'Search assets' }).fill('')
    await page.keyboard.press('Enter')
    await button('Insert Small dot').waitFor()
    await page.getByRole('combobox', { name: 'License' }).selectOption('MIT')
    await page.getByText('Nothing matches.').waitFor()
    await page.getByRole('combobox', { name: 'License' }).selectOption('CC BY: with credit')
    await page.getByText('Credit', { exact: true }).click()
    await page.getByText(`“Small dot” by Kit, CC-BY-4.0, ${platform.portal}/assets/small-dot`).waitFor()
    await button('Insert Small dot').click()
    await page.locator('.cm-line', { hasText: 'const dot = "/__service/assets/small-dot.gif"' }).waitFor()
    t.pass('inside quotes it gets no others')
    await page.getByText('Saved', { exact: true }).waitFor()
    t.match(await textOf('scene.js'), 'const dot = "/__service/assets/small-dot.gif"')
    t.same(complaints, [])
    await context.close()
    await save('scene.js', 'const sea = \nconst dot = ""\n')
  }
  for (const name of ['wavy-sea.glb', 'small-dot.gif']) {
    const file = await platform.stranger.get(`/__service/assets/${name}`, { host: platform.gameHost('pond') })
    t.equal(file.status, 200, `the inserted address of ${name} works in the game`)
  }
})

t.test('on a telephone, a found place is in sight', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { platform, player, save } = await withGame(t, 'page')
  await save('long.js', `${'// water\n'.repeat(400)}const frog = 1\n`)
  const view = { viewport: { width: 390, height: 844 }, hasTouch: true }
  const { page } = await signedIn(browser, platform.portal, player, view)
  page.setDefaultTimeout(120_000)
  await page.goto('/games/pond/code')
  await page.locator('.cm-content').waitFor()
  await page.getByRole('button', { name: 'Files', exact: true }).tap()
  await page.getByRole('searchbox', { name: 'Search in all files' }).fill('frog')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'long.js:401' }).tap()
  await page.locator('.cm-activeLine', { hasText: 'frog' }).waitFor()
  await page.waitForFunction(() => {
    const root = document.querySelector('.code-text')?.shadowRoot
    const { top = 0, bottom = 0 } = root?.querySelector('.cm-activeLine')?.getBoundingClientRect() ?? {}
    return top > 0 && bottom < innerHeight && root?.activeElement?.classList.contains('cm-content')
  })
  t.pass('the editor has scrolled there, and takes the keys')
})

t.test('a model is shown', async (t) => {
  const browser = await openBrowser(t, [SOFTWARE_GRAPHICS])
  if (!browser) return
  const { platform, player, save } = await withGame(t, 'page')
  await save('models/sea.glb', await sheet(12))
  await save('models/broken.glb', 'no model')
  const { page, complaints } = await signedIn(browser, platform.portal, player, {
    viewport: { width: 1280, height: 844 },
  })
  page.setDefaultTimeout(120_000)
  await page.goto('/games/pond/code')
  await page.getByRole('button', { name: 'sea.glb' }).click()
  await page.locator('.code-model .code-status', { hasNotText: 'Loading' }).waitFor()
  const viewer = page.locator('.code-model model-viewer')
  t.equal(await viewer.getAttribute('alt'), '3D model: models/sea.glb')
  t.ok(await viewer.evaluate((element) => (element as HTMLElement & { loaded: boolean }).loaded))
  await expectNoAxeViolations(t, page)
  await screenshot(page, 'code-model')
  t.same(
    complaints.filter((text) => !/GPU stall|GL Driver Message|software WebGL|rAF timed out/i.test(text)),
    [],
    'nothing is wrong, and nothing comes from elsewhere',
  )
  await page.getByRole('button', { name: 'broken.glb' }).first().click()
  await page.getByText('This browser could not show the model.').waitFor()
})

const SCRIPT = `export const join = (room, player) => room.log('welcome', player.name)
export function message() {
  throw new Error('too far')
}
`

t.test('the log of the room script is live, and an error leads to its place', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { platform, player, save } = await withGame(t, 'authority')
  await save('room.js', SCRIPT)
  await save(
    'index.html',
    `<!doctype html><title>Pond</title><script type="module">
    import { join } from '/__service/multiplayer.js'
    globalThis.room = await join('pond')
  </script>`,
  )
  t.equal((await player.post('/api/games/pond/draft/publish', {})).status, 200)
  const view = { viewport: { width: 1280, height: 844 } }
  const { page } = await signedIn(browser, platform.portal, player, view)
  page.setDefaultTimeout(120_000)
  await page.goto('/games/pond/code')
  await page.getByRole('button', { name: 'Room log', exact: true }).click()
  await page.getByText('Nothing is logged yet.').waitFor()

  const game = await signedIn(browser, platform.portal, player, {})
  await game.page.goto(`${platform.app.origins.game('pond')}/auth/service/start?returnTo=/`)
  const log = page.getByRole('list', { name: 'Room log' })
  await log.getByText('welcome Ada').waitFor()
  await game.page.waitForFunction('globalThis.room !== undefined')
  await game.page.evaluate("room.send('far', 1)")
  await log.getByText('Error: too far').waitFor()
  await expectNoAxeViolations(t, page)
  await screenshot(page, 'code-room-log')
  await page.getByRole('button', { name: 'room.js:3' }).click()
  await page.locator('.cm-activeLine', { hasText: 'too far' }).waitFor()
  t.pass('the place is shown')
})

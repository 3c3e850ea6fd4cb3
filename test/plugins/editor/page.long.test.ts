// The page Code: files are opened, changed, previewed and published in every engine.
import t from 'tap'
import { expectNoAxeViolations, openBrowser, screenshot } from '../../kit/browser.ts'
import { ENGINES, openEngine } from '../../kit/engines/engine.ts'
import { cookiesOf } from '../../kit/engines/pages.ts'
import { signedIn } from '../../kit/portal-pages.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { withGame } from './kit.ts'

t.setTimeout(timeLimit(600))

/**
 * What the game logs, and what Firefox says of cookies in frames and of a frame that another has replaced. For about one
 * replaced frame in 600 this is NS_ERROR_FAILURE. A preview that really fails writes nothing to the console.
 */
const EXPECTED =
  /no water|“gameyard_game_\d+” has been rejected|Browsing context already closed|^failed: \S+\/\/pond--\S+ NS_ERROR_FAILURE$/

for (const name of ENGINES) {
  t.test(`${name}: a text is changed, saved, seen in the preview, and published`, async (t) => {
    const engine = await openEngine(t, name)
    if (!engine) return
    const { platform, player, textOf, save } = await withGame(t)
    // The game of the starter fetches its session, which fails in a preview that is replaced meanwhile.
    await save('index.html', '<!doctype html>\n<title>Pond</title>\n<p>Water</p>\n')
    const page = await (
      await engine.newContext({ base: platform.portal, cookies: cookiesOf(platform, player) })
    ).newPage()
    await page.goto('/games/pond/code')
    await page.see('.cm-line span[class]')

    await page.click('.cm-content')
    for (const key of 'gs/') await page.press(key)
    // The page says Saved until it has noticed the change.
    await until(async () => (await textOf('index.html')).includes('gs/'))
    await page.see({ text: 'Saved', within: '.code-status' })
    t.pass('what was typed is saved, and no shortcut of the page is taken for it')

    await save('index.html', '<!doctype html>\n<title>Pond</title>\n<script>\nconsole.error("no water")\n</script>\n')
    await page.waitFor(`document.querySelector('.code-text').shadowRoot.textContent.includes('no water')`)
    t.pass('a change from elsewhere is shown at once')
    await page.see({ text: 'no water', within: '.code-console li' })
    // WebKit does not tell the place of a script inside a page.
    if (name !== 'webkit') {
      await page.click({ button: 'index.html:4' })
      await page.waitFor(`document.querySelector('.code-text').shadowRoot.activeElement !== null`)
      t.pass('a line of the console leads to its place')
    }

    await page.click({ button: 'Publish' })
    await page.fill({ label: 'Message' }, 'Less water')
    await page.click({ button: 'Publish now' })
    await page.see({ text: 'Your game is live' })
    await page.click({ button: 'History' })
    await page.see({ text: 'Less water' })
    const live = await platform.stranger.get('/', { host: platform.gameHost('pond') })
    t.match(live.text, 'no water', 'everybody plays it')
    t.same(
      page.complaints.filter((text) => !EXPECTED.test(text)),
      [],
      'nothing is wrong',
    )
  })
}

t.test('the first text can be typed in before the scripts have loaded, and nothing moves when they have', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { platform, player, textOf, save } = await withGame(t)
  await save('index.html', '\n<title>Pond</title>\r\n<textarea></textarea>\n')
  for (const [width, typed] of [
    [390, 'frog'],
    [1280, 'toad'],
  ] as const) {
    const { page, context } = await signedIn(browser, platform.portal, player, { viewport: { width, height: 844 } })
    page.setDefaultTimeout(120_000)
    const until = async (begin: string) => {
      while (!(await textOf('index.html')).startsWith(begin)) await page.waitForTimeout(50)
    }
    const arrives = { code: Promise.withResolvers<void>(), 'text-editor': Promise.withResolvers<void>() }
    for (const [name, { promise }] of Object.entries(arrives))
      await page.route(`**/${name}.*.js`, async (route) => {
        await promise
        await route.continue()
      })
    await page.goto('/games/pond/code', { waitUntil: 'commit' })
    const field = page.getByRole('textbox', { name: 'index.html', exact: true })
    await field.click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type(typed)
    await screenshot(page, `code-before-its-script-${width}`)
    arrives.code.resolve()
    await page.locator('[data-ready]').waitFor()
    await page.keyboard.type('s')
    await until(`${typed}s`)
    arrives['text-editor'].resolve()
    await page.locator('.cm-content').waitFor()
    await page.keyboard.type('!')
    await until(`${typed}s!`)
    const shifts = await page.evaluate(() => (window as unknown as { shifts: { value: number }[] }).shifts)
    t.ok(shifts.reduce((sum, { value }) => sum + value, 0) < 0.01, `${width}: nothing moves`, { shifts })
    await context.close()
  }
  t.match(await textOf('index.html'), /^toads!frogs!\n<title>Pond<\/title>\n<textarea><\/textarea>\n$/)
})

t.test('publishing moves no cursor, and keeps what is typed meanwhile and what can be undone', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { platform, player, textOf, save } = await withGame(t)
  await save('index.html', '<title>Pond</title>\n<p>Water</p>\n')
  const { page } = await signedIn(browser, platform.portal, player, { viewport: { width: 1280, height: 844 } })
  page.setDefaultTimeout(120_000)
  await page.goto('/games/pond/code')
  const text = page.locator('.cm-content')
  await text.click()
  await page.keyboard.press('Control+Home')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.type('frog')
  // The page says Saved until it has noticed the change.
  await until(async () => (await textOf('index.html')).includes('\nfrog<p>'))
  await page.getByText('Saved', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Publish', exact: true }).click()
  const { promise, resolve } = Promise.withResolvers<void>()
  // After it is published the page asks for the text again.
  await page.route('**/draft/files/index.html', async (route) => {
    if (route.request().method() === 'GET') await promise
    await route.continue()
  })
  const asked = page.waitForRequest(
    (request) => request.method() === 'GET' && /draft\/files\/index\.html/.test(request.url()),
  )
  await page.getByRole('button', { name: 'Publish now' }).click()
  await asked
  // By the mouse, as a maker does: focus() puts the browser's cursor at the beginning, and the text editor now and then
  // takes that for a choice.
  const end = await text.evaluate((content) => {
    const line = content.querySelectorAll('.cm-line')[1]
    const node = line && document.createTreeWalker(line, NodeFilter.SHOW_TEXT).nextNode()
    if (!node) throw new Error('The second line has no text.')
    const range = document.createRange()
    range.setStart(node, 0)
    range.setEnd(node, 'frog'.length)
    const { right, top, height } = range.getBoundingClientRect()
    return { x: right, y: top + height / 2 }
  })
  await page.mouse.click(end.x, end.y)
  await page.keyboard.type('s')
  resolve()
  await page.getByText('Your game is live').waitFor()
  await page.keyboard.type('!')
  await until(async () => (await textOf('index.html')).includes('\nfrogs!<p>'))
  t.pass('it goes on at the same place')
  for (let undone = 0; undone < 5 && (await text.getByText('frog').count()) > 0; undone++)
    await page.keyboard.press('Control+z')
  t.equal(await text.getByText('frog').count(), 0, 'and can be undone')
})

t.test('the page is for keyboards, telephones and screen readers', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { platform, player } = await withGame(t)
  for (const [width, colorScheme] of [
    [390, 'light'],
    [390, 'dark'],
    [1280, 'light'],
    [1280, 'dark'],
  ] as const) {
    const view = { colorScheme, viewport: { width, height: 844 } }
    const { page, context } = await signedIn(browser, platform.portal, player, view)
    page.setDefaultTimeout(120_000)
    await page.goto('/games/pond/code')
    await page.locator('.cm-content').waitFor()
    const panes = width === 390 ? ['Code', 'Files', 'Preview', 'History'] : ['Preview', 'History']
    for (const pane of panes) {
      await page.getByRole('button', { name: pane, exact: true }).click()
      await expectNoAxeViolations(t, page, `${pane} ${width} ${colorScheme}`)
    }
    if (width === 390) await page.getByRole('button', { name: 'Code', exact: true }).click()
    await page.locator('.cm-content').focus()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Tab')
    t.equal(await page.locator('.cm-content:focus').count(), 0, 'Escape and Tab leave the editor')
    await context.close()
  }
})

t.test('files are found, renamed, deleted, uploaded, dropped, shown, and made the room script', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { platform, player, textOf, save } = await withGame(t)
  await save('js/frog.js', 'let far = 1\n  const hop = 7\n')
  const draft = async () => (await player.get('/api/games/pond/draft')).body
  const paths = async () => (await draft()).files.map(({ path }: { path: string }) => path).sort()
  const { page } = await signedIn(browser, platform.portal, player, { viewport: { width: 1280, height: 844 } })
  page.setDefaultTimeout(120_000)
  await page.goto('/games/pond/code')
  await page.locator('.cm-content').waitFor()
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const dialog = page.getByRole('dialog')

  await page.getByRole('searchbox', { name: 'Search in all files' }).fill('HOP = 7')
  await page.keyboard.press('Enter')
  await page.getByText('One place.').waitFor()
  await page.getByRole('button', { name: 'js/frog.js:2' }).click()
  await page.locator('.cm-activeLine', { hasText: 'hop' }).waitFor()
  t.pass('a found place is shown')

  await button('Use as room script').click()
  await button('No room script').waitFor()
  t.equal((await draft()).room, 'js/frog.js')

  await button('Rename').click()
  await dialog.getByLabel('New path').fill('js/toad.js')
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await button('Close toad.js').waitFor()
  t.same(await paths(), ['index.html', 'js/toad.js'])
  t.match(await textOf('js/toad.js'), 'hop = 7', 'a renamed file keeps its text')
  t.equal((await draft()).room, 'js/toad.js', 'and remains the room script')

  await button('Delete').click()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  t.same(await paths(), ['index.html', 'js/toad.js'], 'nothing is deleted without consent')
  await button('Delete').click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await button('Close toad.js').waitFor({ state: 'detached' })
  await page.locator('.code-tree', { hasNotText: 'toad.js' }).waitFor()
  t.same(await paths(), ['index.html'])

  const dot = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
  await page.locator('input[type=file]').setInputFiles({ name: 'dot.gif', mimeType: 'image/gif', buffer: dot })
  await page.waitForFunction(() => document.querySelector<HTMLImageElement>('.code-shown img')?.naturalWidth === 1)
  t.pass('an uploaded picture is shown')

  const dropped = await page.evaluateHandle(() => {
    const transfer = new DataTransfer()
    const header = [0x46464952, 36, 0x45564157, 0x20746d66, 16, 0x00010001, 8000, 8000, 0x00080001, 0x61746164, 0]
    transfer.items.add(new File([new Uint32Array(header)], 'ribbit.wav', { type: 'audio/wav' }))
    return transfer
  })
  await page.locator('.code-files').dispatchEvent('drop', { dataTransfer: dropped })
  await page.getByLabel('ribbit.wav', { exact: true }).waitFor()
  await page.waitForFunction(() => (document.querySelector<HTMLAudioElement>('.code-shown audio')?.readyState ?? 0) > 0)
  t.pass('a dropped sound can be played')
  t.same(await paths(), ['dot.gif', 'index.html', 'ribbit.wav'])
})

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { inFull } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { build, deploy, liveBuild } from './build.ts'
import { THREADED } from './wasm.ts'
import { zip, zipOf } from './zip-writer.ts'

t.test('the program that the deploys page offers deploys a folder', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player, ['deployments:write'])
  const page = await player.get(`/games/${game.slug}/deploys`)
  const code = [...page.text.matchAll(/<code>([\s\S]*?)<\/code>/g)]
    .map(
      ([, text]) =>
        text?.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&') ?? '',
    )
    .find((text) => text.includes('createHash'))
  const folder = await mkdtemp(join(tmpdir(), 'gameyard-page-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const files = { ...build('by hand'), 'deep/er/ü.txt': 'deep' }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, 'build', path)), { recursive: true })
    await writeFile(join(folder, 'build', path), text)
  }
  await writeFile(join(folder, 'deploy.mjs'), code ?? '')
  const { stdout } = await promisify(execFile)(process.execPath, ['deploy.mjs', './build'], {
    cwd: folder,
    env: { PATH: process.env.PATH, SERVICE_API_TOKEN: program.token ?? '' },
  })
  t.equal(stdout.trim(), `${platform.portal}/games/pong`)
  t.same(await liveBuild(platform, game.id), files)
})

t.test('a deploy is brought back from the history', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const { deployId } = await deploy(platform, program, game.id, build('one'), 'The <first>')
  platform.clock.advance(1000)
  await deploy(platform, program, game.id, build('two'))
  const page = await player.get('/games/pong/deploys')
  t.match(page.text, /The &lt;first/)
  const [, action] = /action="([^"]+\/rollback)"/.exec(page.text) ?? []
  t.equal(action, `/games/pong/deploys/${deployId}/rollback`)
  const restored = await player.submit(action ?? '', {})
  t.match(restored, { status: 303, headers: { location: /^\/games\/pong\/deploys\?restored=dep_\w+$/ } })
  const told = (await player.get(restored.headers.location ?? '')).text
  const undo = /class="flash".*?action="([^"]+\/rollback)"/s.exec(told)?.[1]
  t.match(await player.submit(undo ?? '', {}), { status: 303 }, 'a rollback is undone by one button')
  t.match(await player.submit(action ?? '', {}), { status: 303 }, 'and made once more')
  t.same(await liveBuild(platform, game.id), build('one'))
  const other = await platform.signUp()
  t.equal((await other.get('/games/pong/deploys')).status, 404)
  t.equal((await other.submit(action ?? '', {})).status, 404)
})

inFull(t)?.test('an archive is dropped into the page and published, in a browser', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const long = `${'assets'.repeat(20)}/Main.js`
  const first = { 'index.html': `<script src="${long}"></script>`, [long.toLowerCase()]: 'x', 'game.wasm': THREADED }
  await deploy(platform, program, game.id, first, 'The first')
  platform.clock.advance(60_000)
  const folder = await mkdtemp(join(tmpdir(), 'gameyard-page-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const files = { ...build('dropped'), 'noise.bin': randomBytes(3_000_000).toString('base64') }
  await writeFile(join(folder, 'good.zip'), zipOf({ ...files, '.env': 'SECRET=1' }))
  await writeFile(join(folder, 'bad.zip'), zip([{ name: 'index.html', mode: 0o120777 }]))

  for (const [name, width, colorScheme] of [
    ['phone', 390, 'light'],
    ['desk', 1280, 'dark'],
    ['phone-dark', 390, 'dark'],
    ['desk-light', 1280, 'light'],
  ] as const) {
    const { page, context, complaints } = await openPage(browser, { viewport: { width, height: 900 }, colorScheme })
    await context.addCookies(
      [...player.cookiesOf()].map(([name, value]) => ({ name, value, url: platform.portal, httpOnly: true })),
    )
    await page.goto(`${platform.portal}/games/pong/deploys`)
    await page.getByText('One warning').last().click()
    await expectNoAxeViolations(t, page, name)
    await expectNoOverflow(t, page, name)
    await screenshot(page, `deploys-${name}`)

    await page.getByLabel('Zip archive').setInputFiles(join(folder, 'bad.zip'))
    await page.getByRole('button', { name: 'Publish' }).click()
    await page.getByText('is a symbolic link').waitFor()
    await screenshot(page, `deploys-refused-${name}`)

    await page.getByLabel('Message').fill(`From the ${name}`)
    await page.getByLabel('Zip archive').setInputFiles(join(folder, 'good.zip'))
    const requests: string[] = []
    page.on('request', (request) => void requests.push(request.resourceType()))
    await page.getByRole('button', { name: 'Publish' }).click()
    await page.getByText('Your build is live. One file was left out').waitFor()
    t.ok(requests.includes('xhr'), 'sent by the script, which shows how far it is')
    await page
      .getByRole('row')
      .nth(1)
      .filter({ hasText: `From the ${name}` })
      .waitFor()
    await expectNoOverflow(t, page, `${name}, published`)
    await screenshot(page, `deploys-published-${name}`)
    t.same(
      complaints.filter((text) => !/status of 400/.test(text)),
      [],
      name,
    )
    await context.close()
    platform.clock.advance(60_000)
  }
  t.same(await liveBuild(platform, game.id), files)

  const { page, context } = await openPage(browser, { javaScriptEnabled: false })
  await context.addCookies(
    [...player.cookiesOf()].map(([name, value]) => ({ name, value, url: platform.portal, httpOnly: true })),
  )
  await page.goto(`${platform.portal}/games/pong/deploys`)
  await page.getByLabel('Zip archive').setInputFiles(join(folder, 'good.zip'))
  await page.getByRole('button', { name: 'Publish' }).click()
  await page.getByText('Your build is live. One file was left out').waitFor()
  t.pass('and the same without a script')
  await page.getByRole('button', { name: 'Delete The first' }).click()
  await page.getByText('That deploy is deleted.').waitFor()
  t.equal(await page.getByText('The first').count(), 0)
})

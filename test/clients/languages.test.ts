// The elements that the platform gives to games are in the language of the game, and small where there is little room.
import t from 'tap'
import { expectNoAxeViolations, openBrowser, openPage, screenshot } from '../kit/browser.ts'
import { startPlatform } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { deploy } from '../plugins/game-edge/kit.ts'

const PAGE = `<!doctype html><html lang="de-DE"><head><meta name="viewport" content="width=device-width">
  <title>Sonar</title><style>html { color-scheme: light dark; background: Canvas }</style>
  <script type="module" src="/__service/scores.js"></script></head><body><main><h1>Sonar</h1>
  <div id="player" lang="ja"></div><gameyard-board name="points"></gameyard-board>
  <gameyard-board name="empty"></gameyard-board><gameyard-board name="missing" failed="Keine Liste"></gameyard-board>
  <script type="module">
    import { mount } from '/__service/mount.js'
    await mount('#player', { gameName: 'Sonar' })
    await mount('#own', { gameName: 'Sonar', texts: { signIn: 'Mitspielen' } })
  </script><div id="own"></div></main></body></html>`

t.test('the sign-in button and boards are in the language of the game', { timeout: timeLimit(60) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(owner)
  const { boards } = platform.app.scores
  await boards.put(game.id, 'points', { title: 'Punkte' })
  await boards.put(game.id, 'empty', { title: 'Leer' })
  const score = { gameId: game.id, boardId: 'points', playerId: owner.id, score: 12345.5, writer: 'players' } as const
  await platform.app.scores.submit(score)
  await deploy(platform, await platform.program(owner), game.id, { 'index.html': PAGE })
  const { page, complaints } = await openPage(browser, { viewport: { width: 1280, height: 700 } })
  await page.goto(platform.app.origins.game(game.slug))
  const corner = page.locator('service-auth')
  const inCorner = (name: string) => corner.getByRole('link', { name, exact: true })

  await inCorner('Anmelden').waitFor()
  await page.getByRole('link', { name: 'ログイン: Sonar' }).waitFor()
  await page.getByRole('link', { name: 'Mitspielen: Sonar' }).waitFor()
  await page.getByText('Noch niemand ist auf dieser Bestenliste.').waitFor()
  await page.getByText('Keine Liste').waitFor()
  await page.getByText('12.346', { exact: true }).waitFor()
  t.equal(await inCorner('Anmelden').getAttribute('lang'), 'de-DE')
  await expectNoAxeViolations(t, page)
  await screenshot(page, 'languages-1280')

  const wide = await corner.boundingBox()
  await page.setViewportSize({ width: 390, height: 700 })
  const small = await corner.boundingBox()
  t.ok(wide && wide.width > 80)
  t.match(small, { width: 40, height: 40 }, 'a picture where there is little room')
  await inCorner('Anmelden').waitFor()
  await expectNoAxeViolations(t, page)
  await screenshot(page, 'languages-390')

  await page.evaluate("document.documentElement.lang = 'es'")
  await inCorner('Iniciar sesión').waitFor()
  await page.getByText('Aún no hay nadie en esta clasificación.').waitFor()
  await page.evaluate("document.querySelector('service-auth').setAttribute('sign-in', 'Jugar')")
  await inCorner('Jugar').waitFor()
  await page.evaluate("document.querySelector('service-auth').removeAttribute('sign-in')")
  await page.evaluate("document.documentElement.lang = 'no language'")
  await page.getByText('Nobody is on this board yet.').waitFor()
  t.equal(await inCorner('Sign in').getAttribute('lang'), 'en', 'a text in another language than the page says so')
  t.same(
    complaints.filter((complaint) => !/Failed to load resource/.test(complaint)),
    [],
  )
})

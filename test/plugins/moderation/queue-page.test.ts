import t from 'tap'
import { openBrowser } from '../../kit/browser.ts'
import { deploy } from '../game-edge/kit.ts'
import { openModeration } from './kit.ts'

t.test('the queue works without a script: see, decide, undo', async (t) => {
  const { platform, moderator, owner, reporter, game, report, states } = await openModeration(t)
  t.match((await moderator.get('/admin/reports')).text, /Nothing is waiting/)
  await deploy(platform, await platform.program(owner), game.id, { 'index.html': '<!doctype html><title>Pong</title>' })
  const next = await platform.game(owner, { title: 'Next <i>game</i>' })
  await report(reporter, game.id, { category: 'copyright', text: 'My <b>picture</b>.' })
  await report(platform.stranger, game.id)
  await report(reporter, next.id)
  const { text } = await moderator.get('/admin/reports')
  t.match(text, /1 of 2[\s\S]*My &lt;b>picture&lt;\/b>\.[\s\S]*Next &lt;i>game/)
  const frame = /<iframe[^>]*>/.exec(text)?.[0] ?? ''
  t.match(frame, `src="${platform.app.origins.game(game.slug)}`)
  t.match(frame, /sandbox="allow-scripts allow-same-origin"/, 'no windows, no leaving, no dialogs')
  t.match(text, /<option value="copyright" selected/, 'the words follow the reports')

  const answer = await moderator.submit(`/admin/reports/${game.id}`, {
    action: 'suspend',
    template: 'copyright',
    message: '',
    next: next.id,
    page: '1',
  })
  t.match(answer, {
    status: 303,
    headers: { location: new RegExp(`^/admin/reports\\?page=1&done=dec_\\w+&target=${next.id}$`) },
  })
  t.match((await platform.app.games.get(game.id)).suspended, {
    reason: /work of somebody else without their permission/,
  })
  const after = await moderator.get(answer.headers.location as string)
  t.match(after.text, /Suspended: <bdi>Pong<\/bdi>[\s\S]*action="\/admin\/reports\/undo"[\s\S]*1 of 1/)
  const decisionId = /name="decisionId" value="(\w+)"/.exec(after.text)?.[1] as string
  t.match(await moderator.submit('/admin/reports/undo', { decisionId }), { status: 303 })
  t.same(await states(), ['open', 'open', 'open'])
  t.match(await moderator.submit('/admin/reports/undo', { decisionId }), { status: 409, text: /undone already/ })
  t.equal((await moderator.submit(`/admin/reports/${game.id}`, { action: 'explode' })).status, 400)
  t.match(await moderator.submit(`/admin/reports/${reporter.id}`, { action: 'dismiss' }), {
    status: 409,
    text: /closed/,
  })
  const own = await moderator.submit(`/admin/reports/${next.id}`, {
    action: 'write',
    template: 'spam',
    message: 'In my words.',
  })
  t.match(own, { status: 303, headers: { location: new RegExp(`target=${next.id}$`) } })
  t.match(await platform.app.db.query("select message from report_decisions where action = 'write'"), [
    { message: 'In my words.' },
  ])
})

t.test('one key is one step', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { platform, moderator, owner, reporter, game, report, states } = await openModeration(t, { listen: true })
  const second = await platform.game(owner, { title: 'Second' })
  await report(reporter, game.id)
  await report(platform.stranger, game.id)
  await report(reporter, second.id)
  const context = await browser.newContext()
  t.teardown(() => context.close())
  const url = platform.portal
  await context.addCookies([...moderator.cookiesOf()].map(([name, value]) => ({ name, value, url })))
  const page = await context.newPage()
  await page.clock.install({ time: 0 })
  await page.clock.pauseAt(1000)
  await page.goto(`${url}/admin/reports`)
  const title = () => page.locator('.queue-head h2').textContent()
  const press = async (key: string) => {
    await Promise.all([page.waitForNavigation(), page.keyboard.press(key)])
  }
  t.equal(await title(), 'Pong')
  await press('j')
  t.equal(await title(), 'Second', 'the case has the focus at first')
  await press('k')
  t.equal(await title(), 'Pong')
  await page.locator('.queue-list a').first().focus()
  await page.keyboard.press('j')
  await page.keyboard.press('Tab')
  t.equal(await title(), 'Pong', 'keys do nothing without the focus on the case')
  await page.locator('.queue-case').focus()
  await page.locator('.queue-words summary').click()
  await page.locator('textarea[name=message]').fill('d')
  t.same(await states(), ['open', 'open', 'open'], 'letters in a field are words')
  await page.locator('.queue-head').click({ position: { x: 1, y: 1 } })
  await page.evaluate(() => localStorage.setItem('gameyard.shortcuts-off', '1'))
  await page.keyboard.press('d')
  await page.evaluate(() => localStorage.clear())
  await page.clock.runFor(1000)
  await press('d')
  t.same(await states(), ['dismissed', 'dismissed', 'open'])
  t.equal(await title(), 'Second')
  await page.evaluate("globalThis.sent = 0; addEventListener('submit', () => sent++)")
  await page.keyboard.press('d')
  t.equal(await page.evaluate('globalThis.sent'), 0, 'a second press decides nothing')
  await press('u')
  t.same(await states(), ['open', 'open', 'open'])
  t.equal(await title(), 'Pong')
})

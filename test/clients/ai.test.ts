// The script for AI in hosted games, in Chromium: a player allows a game credits, and its page generates.
import t from 'tap'
import { aiConfig, openai, startAiServer } from '../kit/ai-server.ts'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage, screenshot } from '../kit/browser.ts'
import { startPlatform } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { deploy } from '../plugins/game-edge/kit.ts'
import { signInTo } from '../plugins/multiplayer/kit.ts'

const PAGE = `<!doctype html><html lang="en"><title>Oracle</title><body><script type="module">
import { AiError, dataUrl, generate } from '/__service/ai.js'
Object.assign(window, { dataUrl, ask: (request) => generate(request).catch((error) => {
  if (!(error instanceof AiError)) throw error
  return { ...error, refused: error.message }
}) })
</script></body></html>`

t.test('a page asks, the player allows it on the portal, and it generates', { timeout: timeLimit(120) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const server = await startAiServer(t)
  const platform = await startPlatform(t, { listen: true, config: { ai: aiConfig(server) } })
  const player = await platform.signUp({ name: 'Ada' })
  const program = await platform.program(player)
  const game = await platform.game(player, { title: 'Oracle' })
  await deploy(platform, program, game.id, { 'index.html': PAGE })
  const host = platform.gameHost(game.slug)
  const origin = platform.app.origins.game(game.slug)
  const { page, context } = await openPage(browser)
  const enter = async (at: string, url: string, by = player) =>
    context.addCookies([...by.cookiesOf(at)].map(([name, value]) => ({ name, value, url })))
  await page.goto(origin)
  await page.waitForFunction('window.ask')
  t.match(await page.evaluate("ask({ prompt: 'Hello?' })"), {
    code: 'unauthorized',
    status: 401,
    signIn: '/auth/service/start',
  })

  await signInTo(player, host)
  await enter(host, origin)
  await enter(new URL(platform.portal).host, platform.portal)
  const { code, allowUrl } = await page.evaluate<{ code: string; allowUrl: string }>("ask({ prompt: 'Hello?' })")
  t.equal(code, 'ai_not_allowed')
  const consent = await context.newPage()
  await consent.goto(allowUrl)
  await expectNoAxeViolations(t, consent)
  await expectNoOverflow(t, consent)
  await screenshot(consent, 'ai-consent')
  await consent.getByLabel('Credits a day').fill('15')
  await consent.getByRole('button', { name: 'Allow', exact: true }).click()
  await consent.getByText('may spend up to 15 credits a day').waitFor()
  await consent.close()

  server.answer = openai('Hail, brave knight!')
  t.match(await page.evaluate("ask({ prompt: 'Greet a knight.' })"), { result: 'Hail, brave knight!', creditsUsed: 1 })
  const streamed = `(async () => {
    const seen = []
    const { result, finish } = await ask({ prompt: 'Greet.', onText: (piece, text) => seen.push([piece, text]) })
    return { result, finish, seen }
  })()`
  t.match(await page.evaluate(streamed), {
    result: 'Hail, brave knight!',
    finish: 'complete',
    seen: [
      ['Hail, ', 'Hail, '],
      ['brave ', 'Hail, brave '],
      ['knight!', 'Hail, brave knight!'],
    ],
  })
  const decoded = `ask({ type: 'image', prompt: 'A door.' }).then(async ({ result }) => {
    const picture = Object.assign(new Image(), { src: dataUrl(result) })
    await picture.decode()
    return picture.naturalWidth
  })`
  t.equal(await page.evaluate(decoded), 1)
  t.match(await page.evaluate("ask({ type: 'image', prompt: 'Another.' })"), {
    code: 'daily_limit_reached',
    limit: 15,
    used: 12,
    allowUrl,
  })
  server.answer = openai('{"gold": 3}')
  const object = "ask({ type: 'object', prompt: 'A purse.', maxOutputTokens: 1000, schema: { type: 'object' } })"
  t.match(await page.evaluate(object), { result: { gold: 3 } })
  server.answer = (_request, response) => void response.writeHead(400).end('{}')
  const failed = "ask({ prompt: 'Hello?', maxOutputTokens: 1000 })"
  t.match(await page.evaluate(failed), { code: 'upstream_error', status: 502, reason: String })
  t.comment('another player signs in to the game in another tab')
  const other = await platform.signUp({ name: 'Bo' })
  await signInTo(other, host)
  await enter(host, origin, other)
  t.match(await page.evaluate(failed), { code: 'other_player', status: 409 })
  await context.setOffline(true)
  t.match(await page.evaluate(failed), { code: 'offline', status: null })
})

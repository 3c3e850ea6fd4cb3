// Tests the pages about credits and AI for players, developers and the host, and from a foreign origin's page.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { aiConfig, openai, startAiServer } from '../../kit/ai-server.ts'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { inFull } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { completed, sign, startStripe, stripeConfig } from '../../kit/stripe.ts'
import { timeLimit } from '../../kit/time-limit.ts'

const cookiesFor = (
  platform: Awaited<ReturnType<typeof startPlatform>>,
  client: { cookiesOf(): Map<string, string> },
) => [...client.cookiesOf()].map(([name, value]) => ({ name, value, url: platform.portal }))

inFull(t)?.test('credits, playground, usage and grants in a browser', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const provider = await startAiServer(t, openai('The lamp is lit, the tide is low.', 12))
  const stripe = await startStripe(t)
  const platform = await startPlatform(t, {
    config: { ai: aiConfig(provider), payments: stripeConfig(stripe.url) },
    listen: true,
  })
  const admin = await platform.admin()
  const game = await platform.game(admin, { title: 'Lighthouse' })
  const program = await platform.program(admin)
  for (const type of ['text', 'text', 'object', 'image'] as const) {
    if (type === 'object') provider.answer = openai('{"hp": 3}')
    await program.post('/api/ai/generate', { type, prompt: 'x', gameId: game.id })
  }
  provider.answer = openai('The lamp is lit,\nthe tide is low.', 12)
  t.equal((await admin.post('/api/payments/checkout', { packId: 'small' })).status, 200)
  const purchaseId = stripe.checkouts[0]?.client_reference_id ?? ''

  const paths = [
    ['credits', '/credits'],
    ['credits-waiting', `/credits?purchase=${purchaseId}`],
    ['grant', '/admin/credits'],
    ['playground-text', '/playground'],
    ['playground-object', '/playground?type=object'],
    ['playground-image', '/playground?type=image'],
    ['usage', `/games/${game.slug}/ai`],
  ] as const
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [390, 'dark'],
  ] as const) {
    const { page, context, complaints } = await openPage(browser, { viewport: { width, height: 900 }, colorScheme })
    await context.addCookies(cookiesFor(platform, admin))
    for (const [name, path] of paths) {
      await page.goto(platform.portal + path)
      await expectNoAxeViolations(t, page, `${name} at ${width}: axe-core finds nothing`)
      await expectNoOverflow(t, page, `${name} at ${width}: nothing sticks out`)
      await screenshot(page, `${name}-${width}`)
    }
    t.same(complaints, [])
    await context.close()
  }

  const { page, context } = await openPage(browser, { viewport: { width: 1280, height: 900 } })
  await context.addCookies(cookiesFor(platform, admin))
  await page.goto(`${platform.portal}/credits?purchase=${purchaseId}`)
  t.match(await page.textContent('main'), /Waiting for the payment/)
  const body = completed({ id: 'evt_1', purchaseId, paymentId: 'pi_1' })
  const headers = { 'content-type': 'application/json', 'stripe-signature': sign(body, platform.clock.now()) }
  t.equal((await platform.stranger.post('/api/payments/webhook', body, { headers })).status, 200)
  await page.getByText('500 credits are on your account').waitFor({ timeout: timeLimit() })
  t.match(await page.textContent('main'), /\+500/, 'as soon as the webhook has come, the page shows the credits')

  await page.goto(`${platform.portal}/playground`)
  await page.getByLabel('Prompt').fill('Greet the keeper.')
  await page.getByRole('button', { name: 'Generate', exact: true }).click()
  await page.getByText('the tide is low').first().waitFor({ timeout: timeLimit() })
  t.match(await page.textContent('main'), /generateText\(\{\s+prompt: "Greet the keeper\."/)
  await screenshot(page, 'playground-answer')
  await page.goto(`${platform.portal}/playground?type=image`)
  await page.getByRole('button', { name: 'Generate', exact: true }).click()
  const image = page.locator('main img[src^="data:image/png"]')
  await image.waitFor({ timeout: timeLimit() })
  t.equal(await image.evaluate((element: HTMLImageElement) => element.naturalWidth), 1)
  await page.goto(`${platform.portal}/playground?type=object`)
  await page.getByLabel('JSON Schema').fill('{ nonsense')
  await page.getByRole('button', { name: 'Generate', exact: true }).click()
  await page.getByText('This is not JSON').waitFor({ timeout: timeLimit() })

  const friend = await platform.signUp()
  await page.goto(`${platform.portal}/admin/credits`)
  await page.getByLabel('Player').fill(friend.account.email)
  await page.getByLabel('Credits').fill('42')
  await page.getByLabel('Reason').fill('Prize of the jam')
  await page.getByRole('button', { name: 'Grant' }).click()
  await page.getByText('on the account').waitFor({ timeout: timeLimit() })
  t.equal((await platform.app.credits.balance(friend.id)).available, 142)
  t.match(await friend.get('/admin/credits'), { status: 403 })
})

t.test('the playground keeps a picture as a private asset, where one wants that', async (t) => {
  const provider = await startAiServer(t)
  const platform = await startPlatform(t, {
    config: { ai: aiConfig(provider), limits: { assetsPerPlayer: 1 } },
  })
  const owner = await platform.signUp()
  const form = { type: 'image', prompt: 'A <b> boat', imageSize: '1K' }
  t.match(await owner.get('/playground?type=image'), { text: /name="keep"/ })
  t.notMatch((await owner.get('/playground')).text, /name="keep"/)
  const shown = await owner.submit('/playground', form)
  t.match(shown, { status: 200, text: /src="data:image\/png/ })
  t.notMatch(shown.text, /asset of yours/)
  t.match(await owner.submit('/playground', { ...form, keep: 'true' }), {
    status: 200,
    text: '<a href="/assets/a-b-boat">an asset of yours</a>',
  })
  t.match(await owner.get('/assets/a-b-boat'), { status: 200, text: /A &lt;b> boat/ })
  t.equal((await platform.stranger.get('/assets/a-b-boat')).status, 404)
  const full = await owner.submit('/playground', { ...form, keep: 'true' })
  t.match(full, { status: 200, text: /The picture was not kept as an asset: / })
  t.match(full.text, /src="data:image\/png/, 'it is paid, so the page shows it')
  t.match(await owner.submit('/playground', { type: 'text', prompt: 'Hi', keep: 'true' }), { status: 200 })
})

t.test('a page of a foreign origin calls with a token, and never with a cookie', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const provider = await startAiServer(t)
  const platform = await startPlatform(t, { config: { ai: aiConfig(provider) }, listen: true })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const foreign = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Game</title>'),
  )
  foreign.listen(0, '127.0.0.1')
  await once(foreign, 'listening')
  t.teardown(() => foreign.close())
  const { page, context } = await openPage(browser)
  await context.addCookies(cookiesFor(platform, owner))
  await page.goto(`http://127.0.0.1:${(foreign.address() as AddressInfo).port}/`)
  const call = (token: string | null, path: string, body: object | null, credentials: 'omit' | 'include') =>
    page.evaluate(
      async ({ url, token, body, credentials }) => {
        const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {}
        if (body) Object.assign(headers, { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() })
        const options = body ? { method: 'POST', body: JSON.stringify(body) } : {}
        try {
          const answer = await fetch(url, { ...options, headers, credentials })
          return { status: answer.status, body: await answer.json() }
        } catch (error) {
          return { blocked: String(error) }
        }
      },
      { url: platform.portal + path, token, body, credentials },
    )
  const text = { type: 'text', prompt: 'Greet.' }
  const generated = await call(program.token, '/api/ai/generate', text, 'omit')
  t.match(generated, { status: 200, body: { result: 'Hello.', creditsUsed: 1, balance: 99 } })
  t.match(await call(program.token, '/api/ai/credits', null, 'omit'), { status: 200, body: { balance: 99 } })
  t.match(await call(null, '/api/ai/credits', null, 'omit'), { status: 401 }, 'an error can be read too')
  t.match(
    await call(null, '/api/ai/credits', null, 'include'),
    { blocked: /TypeError/ },
    'with cookies the browser refuses',
  )
  t.match(await call(program.token, '/api/cli/whoami', null, 'omit'), { blocked: /TypeError/ }, 'and so elsewhere')
  t.match(await owner.get('/api/ai/credits'), { status: 401 }, 'a cookie alone opens nothing')
})

import t from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { publish, startDns } from '../../kit/dns.ts'
import { startPlatform } from '../../kit/platform.ts'
import { deploy } from '../game-edge/kit.ts'

t.test('an owner brings a domain in the browser, without scripts, and the host sees it', async (t) => {
  const browser = await openBrowser(t, ['--host-resolver-rules=MAP play.example.com 127.0.0.1'])
  if (!browser) return
  const dns = await startDns(t)
  const platform = await startPlatform(t, {
    listen: true,
    config: { plugins: { domains: { resolvers: [dns.address] } } },
  })
  const { portal } = platform
  const admin = await platform.admin()
  const owner = await platform.signUp({ name: 'Ada' })
  const program = await platform.program(owner)
  const game = await platform.game(owner, { title: 'Rooftop Relay' })
  await deploy(platform, program, game.id, { 'index.html': '<!doctype html><title>Relay</title><h1>Relay</h1>' })
  const open = async (client: typeof owner, options = {}) => {
    const opened = await openPage(browser, { viewport: { width: 1280, height: 800 }, baseURL: portal, ...options })
    await opened.context.addCookies([...client.cookiesOf()].map(([name, value]) => ({ name, value, url: portal })))
    return opened
  }

  const { page } = await open(owner, { javaScriptEnabled: false })
  await page.goto('/games/rooftop-relay/settings')
  await page.getByRole('link', { name: 'Domains', exact: true }).click()
  await page.getByLabel('Domain').fill('https://play.example.com/')
  await page.getByRole('button', { name: 'Add' }).click()
  t.match(await page.locator('.field-error').textContent(), /without https/)
  t.equal(await page.getByLabel('Domain').inputValue(), 'https://play.example.com/', 'what was typed stays')
  await page.getByLabel('Domain').fill('play.example.com')
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByRole('button', { name: 'Check now: play.example.com' }).click()
  // A click waits for the next page's begin, not for its end.
  await page
    .getByRole('main')
    .getByText(/No TXT record was found/)
    .first()
    .waitFor()
  const [domain] = (await program.get(`/api/games/${game.id}/domains`)).body.domains
  for (const { name, value } of domain.records) {
    t.ok(await page.getByText(name, { exact: true }).first().isVisible(), name)
    t.ok(await page.getByText(value, { exact: true }).first().isVisible(), value)
  }
  const looks = [
    { width: 1280, colorScheme: 'light' },
    { width: 390, colorScheme: 'dark' },
  ] as const
  const look = async (client: typeof owner, path: string, name: string) => {
    for (const { width, colorScheme } of looks) {
      const { page, complaints, context } = await open(client, { viewport: { width, height: 800 }, colorScheme })
      await page.goto(path)
      await expectNoAxeViolations(t, page, `${name} at ${width}`)
      await expectNoOverflow(t, page, `${name} at ${width}`)
      await screenshot(page, `domains-${name}-${width}-${colorScheme}`)
      t.same(complaints, [])
      await context.close()
    }
  }
  await look(owner, '/games/rooftop-relay/settings/domains', 'waiting')

  publish(dns, domain.records)
  await page.getByRole('button', { name: 'Check now: play.example.com' }).click()
  await page.waitForLoadState()
  t.match(await page.getByRole('main').textContent(), /live/)
  await page.getByRole('button', { name: 'Make it the main address: play.example.com' }).click()
  await page.waitForLoadState()
  t.match(await page.getByRole('main').textContent(), /main address/)
  await program.post(`/api/games/${game.id}/domains`, { name: 'example.org' })
  await look(owner, '/games/rooftop-relay/settings/domains', 'live')
  await look(owner, '/games/rooftop-relay/settings', 'settings')
  await look(admin, '/admin/domains', 'host')

  await t.test('a player signs in there', async (t) => {
    const { page, context } = await open(await platform.signUp({ name: 'Grace' }))
    await page.goto(`${game.url}/?from=slug`)
    t.equal(page.url(), `${domain.url}/?from=slug`, 'where every other address leads')
    await page.goto(`${game.url}/auth/service/start?returnTo=/`)
    t.equal(page.url(), `${domain.url}/`)
    const session = await page.evaluate(async () => (await fetch('/auth/service/session')).json())
    t.match(session, { signedIn: true, user: { name: 'Grace' } })
    await context.close()
  })

  const hosts = await open(admin, { javaScriptEnabled: false })
  await hosts.page.goto('/admin/domains')
  await hosts.page
    .getByRole('row', { name: /play\.example\.com/ })
    .locator('summary')
    .click()
  await hosts.page.getByRole('button', { name: 'Remove play.example.com' }).click()
  await hosts.page
    .locator('body')
    .filter({ hasText: /play\.example\.com was removed/ })
    .waitFor()
  t.equal((await platform.stranger.get('/', { host: new URL(domain.url).host })).status, 421)
  await page.goto('/games/rooftop-relay/settings/domains')
  t.notMatch(await page.getByRole('main').textContent(), /play\.example\.com waits/)
})

// A newcomer with a telephone: from the set-up link to two people in one room, by the browser alone.
import t from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage, screenshot } from '../kit/browser.ts'
import { startServer } from '../kit/server.ts'
import { timeLimit } from '../kit/time-limit.ts'

const PASSWORD = 'correct yard battery fence'
/** The most clicks from the set-up link to a live game. Typing is not counted. */
const MOST_CLICKS = 8
/** How long a page may take on a busy machine, in ms. */
const PATIENCE_MS = 150_000

t.test(
  'a newcomer makes a game with rooms from a starter, and a friend joins',
  { timeout: timeLimit(1200) },
  async (t) => {
    const browser = await openBrowser(t, [], { whole: true })
    if (!browser) return
    const server = await startServer(t)
    const telephone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
    const { page, context, complaints } = await openPage(browser, telephone)
    context.setDefaultTimeout(PATIENCE_MS)
    let clicks = 0
    let steps = 0
    const look = async (name: string) => {
      await expectNoOverflow(t, page, `${name}: nothing sticks out`)
      await expectNoAxeViolations(t, page, `${name}: axe`)
      await screenshot(page, `first-game-${++steps}-${name}`)
    }
    const click = async (role: 'link' | 'button', name: string | RegExp) => {
      clicks++
      await page.getByRole(role, { name }).first().click()
    }

    await page.goto(server.setupLink ?? '')
    await look('set-up')
    await page.getByLabel('Name').fill('Ada')
    await page.getByLabel('Email').fill('ada@example.org')
    await page.getByLabel('Password').fill(PASSWORD)
    await click('button', 'Create admin account')
    await page.waitForURL('**/admin')
    await look('first-steps')
    await click('link', 'Publish a game')
    await page.waitForURL('**/games/new')
    await look('new-game')
    await click('link', 'From a starter')
    await page.waitForURL('**/games/new/starter')
    await look('starters')
    clicks++
    await page.getByText('Fireflies', { exact: true }).click()
    await click('button', 'Create the game')
    await page.waitForURL('**/games/fireflies')
    const frame = page.frameLocator('iframe')
    await frame.locator('#say', { hasText: 'You are the first.' }).waitFor()
    t.comment(`${clicks} clicks from the set-up link to a live game`)
    t.ok(clicks <= MOST_CLICKS, `${clicks} clicks`)
    await look('live')
    await page.locator('.invite summary').press('Enter')
    await page.getByRole('img', { name: /^QR code of/ }).scrollIntoViewIfNeeded()
    await look('invite')
    const address = (await page.getByLabel('address of the game', { exact: true }).locator('code').textContent()) ?? ''
    t.equal(address, `${server.portal}/games/fireflies`)

    t.comment('the friend')
    const friend = await openPage(browser, telephone)
    friend.context.setDefaultTimeout(PATIENCE_MS)
    await friend.page.goto(address)
    await screenshot(friend.page, 'first-game-friend-1')
    await friend.page.getByRole('link', { name: 'Sign up' }).click()
    await friend.page.getByLabel('Name').fill('Grace')
    await friend.page.getByLabel('Email').fill('grace@example.org')
    await friend.page.getByLabel('Password').fill(PASSWORD)
    await friend.page.getByRole('button', { name: 'Create account' }).click()
    await friend.page.waitForURL('**/games/fireflies')
    await friend.page.frameLocator('iframe').locator('#say', { hasText: 'You are here with Ada.' }).waitFor()
    await frame.locator('#say', { hasText: 'You are here with Grace.' }).waitFor()
    await screenshot(friend.page, 'first-game-friend-2')
    await screenshot(page, 'first-game-together')
    t.same([...complaints, ...friend.complaints], [])
  },
)

t.test('the empty home page leads to a starter', { timeout: timeLimit(300) }, async (t) => {
  const browser = await openBrowser(t, [], { whole: true })
  if (!browser) return
  const server = await startServer(t)
  const { page } = await openPage(browser, { viewport: { width: 390, height: 844 } })
  await page.goto(server.portal)
  await expectNoOverflow(t, page)
  await expectNoAxeViolations(t, page)
  await screenshot(page, 'first-game-empty-home')
  t.equal(await page.getByRole('link', { name: 'from a starter' }).getAttribute('href'), '/games/new/starter')
})

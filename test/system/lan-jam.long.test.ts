// A game jam on three machines without internet: the host's laptop, and two players with a browser each.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openPage, screenshot } from '../kit/browser.ts'
import { GAMEYARD } from '../kit/gameyard.ts'
import { type Machine, openNetwork } from '../kit/network.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { until } from '../kit/until.ts'

const root = resolve(import.meta.dirname, '../..')
const [command, ...first] = GAMEYARD
const PASSWORD = 'correct yard battery fence'
/** Everything is slower on a busy machine; nothing here is a measurement. */
const PATIENCE_MS = timeLimit(60)

t.test('three machines without internet have a game jam', async (t) => {
  const machines = openNetwork(t, ['host', 'ada', 'gus'])
  if (!machines) return
  const [host, adas, guss] = machines as [Machine, Machine, Machine]
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-jam-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const server = await serve(t, host, folder)
  const { portal } = server
  t.equal(portal, `http://${host.address}:8080`, 'it found its address by itself')

  const strangers: string[] = []
  const open = async (machine: Machine): Promise<{ browser: Browser; page: Page }> => {
    const browser = await machine.openBrowser(t)
    const { page, context } = await openPage(browser, { viewport: { width: 1280, height: 900 } })
    page.setDefaultTimeout(PATIENCE_MS)
    context.on('request', (request) => {
      const { hostname, protocol } = new URL(request.url())
      if (!/^(data|blob):$/.test(protocol) && hostname !== host.address) strangers.push(request.url())
    })
    context.on('page', (opened) => opened.on('websocket', (socket) => refuseElsewhere(socket.url())))
    page.on('websocket', (socket) => refuseElsewhere(socket.url()))
    return { browser, page }
  }
  const refuseElsewhere = (url: string) => {
    if (new URL(url).hostname !== host.address) strangers.push(url)
  }
  const [{ page: ada, browser: adasBrowser }, { page: gus }] = await Promise.all([open(adas), open(guss)])

  // Ada runs the jam: the set-up link, the jam, a token for her terminal.
  await ada.goto(server.setupLink)
  await ada.getByLabel('Name').fill('Ada')
  await ada.getByLabel('Email').fill('ada@example.org')
  await ada.getByLabel('Password').fill(PASSWORD)
  await ada.getByRole('button', { name: 'Create admin account' }).click()
  await ada.waitForURL((url) => !url.pathname.startsWith('/setup'))
  await ada.goto(`${portal}/jam`)
  await ada.getByLabel('Title').fill('Yard jam')
  await ada.getByLabel('Theme').fill('Two is company')
  await ada.getByLabel('Categories').fill('Fun\nLooks')
  await ada.getByRole('button', { name: 'Begin the jam' }).click()
  await ada.getByText('The jam has begun').waitFor()
  const token = await ada.evaluate(async () => {
    const body = JSON.stringify({ label: 'terminal', scopes: ['games:read', 'games:write', 'deployments:write'] })
    const headers = { 'content-type': 'application/json' }
    return (await (await fetch('/api/tokens', { method: 'POST', headers, body })).json()).token as string
  })

  // She deploys from a terminal on her own machine, and submits the game.
  const game = join(folder, 'duo')
  cpSync(join(root, 'test/fixtures/games/duo'), game, { recursive: true })
  const env = { ...process.env, SERVICE_BASE_URL: portal, SERVICE_API_TOKEN: token, HOME: folder }
  const deploy = ['deploy', game, '--create', '--title', 'Duo', '--json']
  const deployed = JSON.parse(await adas.run(command, [...first, ...deploy], { cwd: folder, env }))
  const origin = `http://${host.address}:8081`
  t.equal(deployed.url, origin, 'the game has a port of its own')
  await ada.goto(`${portal}/jam`)
  await ada.getByRole('button', { name: 'Submit' }).click()
  await ada.getByText('Your game takes part').waitFor()
  await ada.getByRole('button', { name: 'Open voting' }).click()
  await ada.getByText('Voting is open.').waitFor()

  // Gus comes in by what the terminal printed, with nothing but a name.
  await gus.goto(server.joinUrl)
  t.match(await gus.locator('.poster-address').textContent(), /192\.168\.77\.10\s*:8080/)
  await gus.getByLabel('Name').fill('Gus')
  await gus.getByRole('button', { name: 'Play as a guest' }).click()
  await gus.waitForURL(`${portal}/`)
  await gus.getByRole('link', { name: 'Jam', exact: true }).click()
  await gus.getByRole('link', { name: 'Play Duo' }).click()
  const frame = gus.frameLocator('iframe')
  await frame.getByText(/Waiting for your partner/).waitFor()

  // They play together: Ada on the game's own page, Gus in the portal's frame.
  const table = await ada.context().newPage()
  table.setDefaultTimeout(PATIENCE_MS)
  await table.goto(`${origin}/auth/service/start?returnTo=/`)
  await table.getByText('You are with Gus.').waitFor()
  await frame.getByText('You are with Ada.').waitFor()
  await table.waitForFunction(`[...(globalThis.duo?.others.values() ?? [])].length === 1`)
  t.pass('and each sees where the other is')
  await ada.goto(`${portal}/jam`)
  await ada.getByText('2 playing').waitFor()

  // He votes, she reveals.
  await gus.goto(`${portal}/jam`)
  await gus.getByLabel('Fun').selectOption({ label: 'Duo (by Ada)' })
  await gus.getByRole('button', { name: 'Save my votes' }).click()
  await gus.getByText('Your votes are in').waitFor()
  t.equal(await ada.getByLabel('Fun').locator('option').count(), 1, 'Ada has nothing to vote for: the game is hers')
  await ada.getByRole('button', { name: 'Close voting' }).click()
  await ada.getByText('Voting is closed.').waitFor()
  await gus.goto(`${portal}/jam/results`)
  t.equal(await gus.getByText('Duo').count(), 0, 'not before it is revealed')
  await ada.goto(`${portal}/jam/results`)
  await ada.getByRole('button', { name: 'Reveal the first' }).click()
  await ada.locator('.place-1').waitFor()
  await gus.locator('.place-1 .podium-title', { hasText: 'Duo' }).waitFor()
  t.pass('his page shows it without being reloaded')
  await table.close()

  await t.test('the announced name is the same place', async (t) => {
    const found = await guss.run(process.execPath, ['-e', LOOK_UP, guss.address], { cwd: root })
    t.equal(found.trim(), host.address, 'multicast DNS answers with the address')
  })

  await t.test('no page names anything outside of this network', async (t) => {
    for (const [name, page] of [
      ['the organiser', ada],
      ['a guest', gus],
    ] as const) {
      const { pages, outside } = await crawl(page, portal)
      t.ok(pages > 15, `${pages} pages that ${name} can reach`)
      t.strictSame(outside, [])
    }
  })

  await t.test('the pages of the jam read well, light and dark, on a phone and on a desk', async (t) => {
    const state = await ada.context().storageState()
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [390, 1280]) {
        const options = { colorScheme, viewport: { width, height: 900 }, storageState: state }
        const { page, context } = await openPage(adasBrowser, options)
        page.setDefaultTimeout(PATIENCE_MS)
        for (const path of ['/join', '/join/certificate', '/download', '/jam', '/jam/results']) {
          await page.goto(portal + path)
          const name = `${path.slice(1).replaceAll('/', '-')}-${width}-${colorScheme}`
          await screenshot(page, name)
          await expectNoAxeViolations(t, page, `axe: ${name}`)
          await expectNoOverflow(t, page, `overflow: ${name}`)
        }
        await context.close()
      }
    }
  })

  t.strictSame(strangers, [], 'no browser asked for anything elsewhere')
  t.equal(host.strays(), 0, 'and the server sent no packet that had nowhere to go')
})

/** Starts `gameyard serve --lan` on a machine and reads what it prints. */
async function serve(t: Test, machine: Machine, folder: string) {
  const env = { PATH: process.env.PATH, HOME: folder }
  const child = machine.spawn(command, [...first, 'serve', '--lan', '--data', join(folder, 'data')], {
    cwd: folder,
    env,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  let ended = false
  const exit = new Promise<void>((done) => child.on('exit', () => done()))
  void exit.then(() => (ended = true))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exit
  })
  await until(() => {
    if (ended) throw new Error(`The server did not start:\n${output}`)
    return output.includes('"msg":"ready"')
  })
  const found = (pattern: RegExp) => pattern.exec(output)?.[1] ?? ''
  return {
    portal: found(/"portal":"([^"]+)"/),
    setupLink: found(/Set-up: (http:[^"\s]+)/),
    joinUrl: found(/Join: (http:[^"\s]+)/),
  }
}

/** Asks the network for the name, as another machine's system does. */
const LOOK_UP = `
const mdns = require('multicast-dns')({ bind: '0.0.0.0', interface: process.argv[1] })
mdns.on('response', ({ answers }) => {
  const found = answers.find(({ name, type }) => name === 'gameyard.local' && type === 'A')
  if (found) { console.log(found.data); process.exit(0) }
})
setInterval(() => mdns.query('gameyard.local', 'A'), 500)
setTimeout(() => process.exit(1), 20000)
`

/** Links that a reader may follow once they are online; nothing is loaded from there, and they stand in guides only. */
const mayLink = (path: string): boolean => path.startsWith('/docs')
const MOST_PAGES = 150

/**
 * Follows every link from the start page, as the page's signed-in player.
 *
 * @returns how many pages it saw, and each address outside of the portal's machine, with the page that contains it
 */
async function crawl(page: Page, portal: string): Promise<{ pages: number; outside: string[] }> {
  const { hostname } = new URL(portal)
  const todo = ['/', '/join', '/join/certificate', '/download', '/jam', '/jam/results', '/docs', '/sign-in', '/sign-up']
  const seen = new Set(todo)
  const outside = new Set<string>()
  let pages = 0
  await page.goto(`${portal}/join`)
  for (let path = todo.shift(); path !== undefined && pages < MOST_PAGES; path = todo.shift()) {
    const named = await page.evaluate(READ, path)
    if (named === null) continue
    pages++
    for (const { address, loads } of named) {
      const url = URL.canParse(address, portal + path) ? new URL(address, portal + path) : null
      if (!url || !/^(https?|wss?):$/.test(url.protocol)) continue
      if (url.hostname !== hostname) {
        if (loads || !mayLink(path)) outside.add(`${url.href} on ${path}`)
        continue
      }
      const next = url.pathname + url.search
      // One page of each kind is enough of what only a cursor or a search makes different.
      if (url.origin !== portal || seen.has(next) || /^\/(api|_assets|media|avatars|sign-out)\b/.test(next)) continue
      if (/[?&](cursor|q|sort)=/.test(next)) continue
      seen.add(next)
      todo.push(next)
    }
  }
  return { pages, outside: [...outside] }
}

/** Reads a page, without its scripts: every address in it and in its style sheets; null for what is no page. */
const READ = async (path: string): Promise<{ address: string; loads: boolean }[] | null> => {
  const answer = await fetch(path, { headers: { accept: 'text/html' } })
  if (!answer.headers.get('content-type')?.startsWith('text/html')) return null
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const named: { address: string; loads: boolean }[] = []
  for (const element of page.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      if (!/^(src|href|action|formaction|poster|data|srcset|content|xlink:href)$/.test(name)) continue
      if (/^(https?:|wss?:|\/)/.test(value)) named.push({ address: value, loads: element.localName !== 'a' })
    }
  }
  for (const link of page.querySelectorAll('link[rel="stylesheet"]')) {
    const text = await (await fetch(link.getAttribute('href') ?? '')).text()
    for (const [, address = ''] of text.matchAll(/url\(["']?(https?:[^"')]+)/g)) named.push({ address, loads: true })
  }
  return named
}

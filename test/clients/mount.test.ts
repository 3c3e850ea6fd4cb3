// Tests the sign-in button that a game mounts, the hosted widget of games with their own code, and scripts at immutable
// addresses with `integrity`.
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { createAuth } from '../../clients/adapter/express.ts'
import { expectNoAxeViolations, openBrowser, openPage, screenshot } from '../kit/browser.ts'
import { amount, inFull } from '../kit/extent.ts'
import { type PlayerClient, startPlatform } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { deploy } from '../plugins/game-edge/kit.ts'

const page = (body: string) =>
  `<!doctype html><html lang="en"><head><meta name="viewport" content="width=device-width"><title>Relay</title>
   <style>html { color-scheme: light dark; background: Canvas } main { padding: 8rem 1rem 1rem }</style></head>
   <body><main><h1>Relay</h1>${body}</main></body></html>`

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

/** Starts the server of an external game under its own name. */
async function serve(t: Test): Promise<{ url: string; use(answer: Answer): void }> {
  let current: Answer = (_request, response) => response.writeHead(503).end()
  const server = createServer((request, response) => current(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://relay.localhost:${port}`,
    use(answer) {
      current = answer
    },
  }
}

async function signInOnPage(page: Page, { account }: PlayerClient): Promise<void> {
  await page.locator('input[name=email]').fill(account.email)
  await page.locator('input[name=password]').fill(account.password)
  await page.locator('input[name=password]').press('Enter')
}

const html = (response: ServerResponse, body: string) =>
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page(body))

interface TokenAnswer {
  user: { name: string }
  access_token: string
  expires_in: number
}

t.test('a mounted button signs in, becomes the player, and signs out', { timeout: timeLimit(120) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const ada = await platform.signUp({ name: 'Ada' })
  const game = await serve(t)
  const { oauth } = await platform.game(owner, { title: 'Relay', url: game.url })
  const below = `${game.url}/relay/auth/service/callback`
  const program = await platform.program(owner)
  const app = await program.post('/api/oauth/apps', { name: 'Relay', redirectUris: [below] })
  const { scripts } = (await platform.stranger.get('/scripts.json')).body
  const { immutableUrl, integrity } = scripts.find(({ name }: { name: string }) => name === 'mount.js')
  const common = { sessionSecret: 's'.repeat(32), baseUrl: platform.portal }
  const auths = {
    '': createAuth({ ...oauth, ...common }),
    '/relay': createAuth({ ...app.body, redirectUri: below, ...common }),
  }
  const hash = randomUUID()
  game.use((request, response) => {
    const path = request.url?.startsWith('/relay/') ? '/relay' : ''
    return auths[path](request, response, () =>
      html(
        response,
        `<div id="player"></div><script type="importmap">{ "integrity": { "${immutableUrl}": "${integrity}" } }</script>
         <script type="module">
           import { mount } from '${immutableUrl}'
           window.received = []
           window.player = await mount('#player', { gameName: 'Relay', path: '${path}', onSession: (session) => received.push(session.signedIn) })
         </script>`,
      ),
    )
  })
  const looks = [
    // One below a path of its origin, as a page among others; one at its root.
    [1280, 'light', '/relay'],
    [390, 'dark', ''],
  ] as const
  for (const [width, colorScheme, path] of looks.slice(0, amount(1, 2))) {
    const { page, complaints, context } = await openPage(browser, { viewport: { width, height: 700 }, colorScheme })
    await page.goto(`${game.url}${path}/level?x=1#${hash}`)
    const button = page.getByRole('link', { name: 'Sign in to Relay' })
    await button.waitFor()
    await expectNoAxeViolations(t, page)
    await screenshot(page, `mount-out-${width}`)
    await button.click()
    await signInOnPage(page, ada)
    // Each of the two is an application of its own, which the player allows once.
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.waitForURL(`${game.url}${path}/level?x=1#${hash}`)
    const chip = page.getByLabel('Signed in as Ada')
    await chip.waitFor()
    t.match(await page.evaluate('player.session'), { signedIn: true, user: { id: ada.id, name: 'Ada' } })
    await chip.click()
    await expectNoAxeViolations(t, page)
    await screenshot(page, `mount-in-${width}`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await button.waitFor()
    t.same(await page.evaluate('received'), [true, false], 'the game is told')
    await page.evaluate('player.unmount()')
    t.equal(await button.count(), 0)
    t.same(complaints, [])
    await context.close()
  }
})

inFull(t)?.test('a hosted game mounts it from its own address', { timeout: timeLimit(60) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(owner, { settings: { authWidget: 'off' } })
  const mounted = `<div id="player"></div><script type="module">
    import { mount } from '/__service/mount.js'
    await mount('#player', { gameName: 'Pong' })
    document.body.dataset.missing = await mount('#nowhere', { gameName: 'Pong' }).catch((error) => error.message)
  </script>`
  await deploy(platform, await platform.program(owner), game.id, { 'index.html': page(mounted) })
  const { page: tab, complaints } = await openPage(browser)
  await tab.goto(platform.app.origins.game(game.slug))
  await tab.getByRole('link', { name: 'Sign in to Pong' }).click()
  await signInOnPage(tab, owner)
  await tab.getByLabel('Signed in as Ada').waitFor()
  await tab.locator('body[data-missing="There is no element #nowhere on this page."]').waitFor()
  t.same(complaints, [])
})

inFull(t)?.test(
  'the hosted widget leads to the portal and back to the game’s own callback',
  { timeout: timeLimit(60) },
  async (t) => {
    const browser = await openBrowser(t)
    if (!browser) return
    const platform = await startPlatform(t, { listen: true })
    const owner = await platform.signUp()
    const ada = await platform.signUp({ name: 'Ada' })
    const game = await serve(t)
    const { oauth } = await platform.game(owner, { title: 'Relay', url: game.url })
    const { clientId, clientSecret, redirectUri } = oauth
    let signedInAs: string | null = null
    /** Handles the callback like the reference implementation in the specification. */
    const callback = async (request: IncomingMessage, response: ServerResponse) => {
      const query = new URL(request.url as string, game.url).searchParams
      const [, state] = /service_oauth_state=([^;]+)/.exec(request.headers.cookie ?? '') ?? []
      if (!query.get('code') || !state || query.get('state') !== state) {
        return response.writeHead(400).end(JSON.stringify({ error: 'invalid_callback' }))
      }
      const answer = await fetch(`${platform.portal}/api/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          client_id: clientId,
          client_secret: clientSecret,
          code: query.get('code') as string,
          redirect_uri: redirectUri,
        }),
      })
      const { user, access_token: token, expires_in: seconds } = (await answer.json()) as TokenAnswer
      signedInAs = user.name
      const cookie = `token=${token}; HttpOnly; Path=/; SameSite=Lax; Max-Age=${seconds}`
      return response.writeHead(302, { location: '/', 'set-cookie': cookie }).end()
    }
    const { scripts } = (await platform.stranger.get('/scripts.json')).body
    const script = scripts.find(({ name }: { name: string }) => name === 'widget.js')
    const widget = (
      src: string,
      attributes = '',
    ) => `<div id="sign-in"></div><script src="${src}"${attributes}></script>
    <script>serviceWidget.mount('#sign-in', ${JSON.stringify({ clientId, redirectUri, gameName: 'Relay', sessionUrl: '/me' })})</script>`
    game.use((request, response) => {
      const { pathname } = new URL(request.url as string, game.url)
      if (pathname === new URL(redirectUri).pathname) return callback(request, response)
      if (pathname === '/me') {
        const session = signedInAs
          ? { signedIn: true, user: { id: '1', name: signedInAs, imageUrl: null } }
          : { signedIn: false }
        return response.end(JSON.stringify(session))
      }
      const checked = ` integrity="${script.integrity}" crossorigin="anonymous"`
      return html(response, pathname === '/' ? widget(script.url) : widget(script.immutableUrl, checked))
    })
    const { page: tab, complaints } = await openPage(browser)
    await tab.goto(`${game.url}/checked`)
    const button = tab.getByRole('link', { name: 'Sign in to Relay' })
    await button.waitFor()
    t.pass('from the address that never changes, checked by its integrity')
    await tab.goto(game.url)
    await button.click()
    await signInOnPage(tab, ada)
    await tab.getByRole('button', { name: 'Allow' }).click()
    await tab.waitForURL(`${game.url}/`)
    await tab.getByLabel('Signed in as Ada').waitFor()
    t.equal(signedInAs, 'Ada')
    t.same(complaints, [])
    await expectNoAxeViolations(t, tab)
    const forged = await tab.evaluate("fetch('/auth/service/callback?code=x&state=y').then(({ status }) => status)")
    t.equal(forged, 400)
  },
)

t.test('scripts have addresses that never change, for any page and for hosted games', async (t) => {
  const platform = await startPlatform(t)
  const game = await platform.game(await platform.signUp())
  const host = platform.gameHost(game.slug)
  const { status, body, headers } = await platform.stranger.get('/scripts.json')
  t.match({ status, headers }, { status: 200, headers: { 'access-control-allow-origin': '*' } })
  t.same(
    body.scripts.map(({ name }: { name: string }) => name),
    [
      'widget.js',
      'mount.js',
      'multiplayer.js',
      'saves.js',
      'scores.js',
      'ai.js',
      'errors.js',
      'auth-widget.js',
      'engine.js',
    ],
  )
  const shared = { 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' }
  for (const { url, immutableUrl, integrity, bytes } of body.scripts) {
    const fixed = await platform.stranger.get(new URL(immutableUrl).pathname)
    t.match(fixed.headers, { ...shared, 'cache-control': /immutable/, 'content-type': /^text\/javascript/ })
    t.equal(Buffer.byteLength(fixed.text), bytes)
    t.equal(`sha384-${createHash('sha384').update(fixed.text).digest('base64')}`, integrity)
    const file = new URL(immutableUrl).pathname.split('/').at(-1)
    const own = await platform.stranger.get(`/__service/${file}`, { host })
    t.match(own, { status: 200, text: fixed.text, headers: { ...shared, 'cache-control': /immutable/ } })
    if (url === null) continue
    const stable = await platform.stranger.get(new URL(url).pathname)
    t.match(stable, { status: 200, text: fixed.text, headers: { ...shared, 'cache-control': /max-age=300/ } })
  }
  const styles = platform.app.browserFiles.get('styles.css').fileName
  t.equal(
    (await platform.stranger.get(`/__service/${styles}`, { host })).status,
    404,
    'pages’ own files are not games’',
  )
})

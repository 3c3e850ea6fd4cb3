// A game on the website of somebody else: the frame that its maker copies, and oEmbed.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { openBrowser } from '../../kit/browser.ts'
import { startPlatform } from '../../kit/platform.ts'
import { deploy } from '../game-edge/kit.ts'

t.test('oEmbed describes public games, by their page or their own address', async (t) => {
  const platform = await startPlatform(t)
  const { portal, stranger, app } = platform
  const owner = await platform.signUp({ name: 'Ada' })
  const program = await platform.program(owner)
  const game = await platform.game(owner, { title: 'Pong "2" <x>' })
  const ask = (url: string, more: Record<string, string> = {}) =>
    stranger.get(`/oembed?${new URLSearchParams({ url, ...more })}`)
  const page = `${portal}/games/${game.slug}`
  t.equal((await ask(page)).status, 404, 'without a build there is nothing to show')
  await deploy(platform, program, game.id, { 'index.html': '<!doctype html><title>Pong</title>' })

  const { status, headers, body } = await ask(page)
  t.match({ status, headers }, { status: 200, headers: { 'access-control-allow-origin': '*' } })
  t.match(body, {
    version: '1.0',
    type: 'rich',
    title: 'Pong "2" <x>',
    author_name: 'Ada',
    author_url: `${portal}/players/${owner.id}`,
    provider_url: `${portal}/`,
    thumbnail_width: 1200,
    width: 960,
    height: 540,
  })
  t.ok(
    body.html.startsWith(`<iframe src="${game.url}" title="Pong &quot;2&quot; &lt;x&gt;" width="960" height="540"`),
    body.html,
  )
  t.notMatch(body.html, /camera|microphone/)
  t.equal((await stranger.get(new URL(body.thumbnail_url).pathname)).status, 200)
  for (const url of [`${page}/`, `${page}?ref=x`, game.url, `${game.url}/level/2`])
    t.same((await ask(url)).body, body, url)
  t.match((await ask(page, { maxwidth: '480', maxheight: '1000' })).body, { width: 480, height: 270 })
  t.notOk('thumbnail_url' in (await ask(page, { maxwidth: '480' })).body, 'the picture is too wide then')
  await program.patch(`/api/games/${game.id}`, { features: { orientation: 'portrait' } })
  t.match((await ask(page, { maxheight: '360' })).body, { width: 202, height: 360 })

  const { text } = await stranger.get(`/games/${game.slug}`)
  const link = /<link rel="alternate" type="application\/json\+oembed" href="([^"]+)"/.exec(text)?.[1] ?? ''
  t.match((await stranger.get(link.replaceAll('&amp;', '&').slice(portal.length))).body, { title: game.title })
  t.match((await owner.get(`/games/${game.slug}/integrate`)).text, /On another website[\s\S]*&lt;iframe src=/)

  t.match(await ask(page, { format: 'json' }), { status: 200 })
  t.match(await ask(page, { format: 'xml' }), { status: 400, body: { error: { details: [{ path: 'format' }] } } })
  t.match(await ask(page, { maxwidth: 'wide' }), { status: 400 })
  for (const url of [
    'https://example.org/games/pong',
    'nonsense',
    `${portal}/assets/pong`,
    'ftp://localhost/',
    `${portal}/games/none`,
  ])
    t.equal((await ask(url)).status, 404, url)
  await program.patch(`/api/games/${game.id}`, { slug: 'paddle' })
  t.match((await ask(page)).body, { title: game.title }, 'a former address')
  await program.patch(`/api/games/${game.id}`, { settings: { crossOriginIsolated: true } })
  const isolated = await ask(`${portal}/games/paddle`)
  t.match(isolated, { status: 200, body: { type: 'link' } })
  t.notOk('html' in isolated.body, 'it would not run there')
  t.match((await owner.get('/games/paddle/integrate')).text, /runs at its own address/)
  await program.patch(`/api/games/${game.id}`, { visibility: 'private' })
  t.equal((await ask(`${portal}/games/paddle`)).status, 404)
  t.notMatch((await owner.get('/games/paddle')).text, /json\+oembed/)
  await program.patch(`/api/games/${game.id}`, { visibility: 'public' })
  await app.games.suspensions.suspend(game.id, 'Stolen.')
  t.equal((await ask(`${portal}/games/paddle`)).status, 404)
})

t.test('the frame shows the game on another website', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const index = '<!doctype html><title>Pong</title><p>The game runs.</p>'
  await deploy(platform, await platform.program(owner), game.id, { 'index.html': index })
  const { body } = await platform.stranger.get(`/oembed?url=${encodeURIComponent(game.url)}`)
  const site = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(`<!doctype html><title>Blog</title>${body.html}`)
  }).listen(0, '127.0.0.1')
  t.teardown(() => site.close())
  const page = await browser.newPage()
  t.teardown(() => page.close())
  await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}`)
  await page.frameLocator('iframe').getByText('The game runs.').waitFor()
  t.same(
    await page
      .locator('iframe')
      .boundingBox()
      .then((box) => [box?.width, box?.height]),
    [960, 540],
  )
})

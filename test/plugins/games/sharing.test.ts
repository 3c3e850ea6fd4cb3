// Tests what other sites see of the portal: link previews, feeds, sitemaps, icons, and the rules for crawlers.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { PNG } from 'pngjs'
import t from 'tap'
import { escapeXml } from '../../../core/pages/sitemap.ts'
import { gamePages } from '../../../plugins/games/catalog/sitemaps.ts'
import { startPlatform } from '../../kit/platform.ts'

const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens', 'quotas', 'games', 'docs'] })
const { stranger, portal, app } = platform
const maker = await platform.signUp()
const url = 'https://play.example/x'
const open = await platform.game(maker, { title: 'Łódź <Relay> & Co.', url, tags: ['co-op'] })
const secret = await platform.game(maker, { title: 'Secret', url, visibility: 'private' })
const empty = await platform.game(maker, { title: 'Nothing published' })

const content = (page: string, property: string) =>
  new RegExp(`<meta (?:property|name)="${property}" content="([^"]*)"`).exec(page)?.[1]

async function picture(path: string) {
  const { statusCode, headers, rawPayload } = await app.inject({ url: path, headers: { host: new URL(portal).host } })
  return { status: statusCode, headers, png: statusCode === 200 ? PNG.sync.read(rawPayload) : null }
}

/** Counts the colours in a part of a picture: text and drawings have more than a plain background. */
function colours(png: PNG, from: number, to: number): number {
  const seen = new Set<number>()
  for (let y = 0; y < png.height; y += 3)
    for (let x = from; x < to; x += 3) seen.add(png.data.readUInt32BE((y * png.width + x) * 4))
  return seen.size
}

t.test("a shared game shows its own picture, drawn from its title, and the page's one address", async (t) => {
  const page = (await stranger.get(`/games/${open.slug}`)).text
  const image = content(page, 'og:image') ?? ''
  t.match(image, `${portal}/games/${open.slug}/card.png?v=`)
  t.equal(content(page, 'og:title'), 'Łódź &lt;Relay&gt; &amp; Co.')
  t.equal(content(page, 'og:url'), `${portal}/games/${open.slug}`)
  t.match(page, `<link rel="canonical" href="${portal}/games/${open.slug}">`)
  t.equal(content(page, 'twitter:card'), 'summary_large_image')

  const path = image.slice(portal.length)
  const { status, headers, png } = await picture(path)
  t.match({ status, type: headers['content-type'] }, { status: 200, type: 'image/png' })
  t.match(headers['cache-control'], /immutable/, 'the address changes with the picture')
  t.match(png, { width: 1200, height: 630 })
  t.ok(png && colours(png, 0, 480) > 20, 'words at the left')
  t.ok(png && colours(png, 520, 1200) > 4, 'a drawing at the right')

  const plain = await picture(`/games/${open.slug}/card.png`)
  t.match(plain.headers['cache-control'], /must-revalidate/)
  const again = await stranger.get(`/games/${open.slug}/card.png`, {
    headers: { 'if-none-match': String(plain.headers.etag) },
  })
  t.match(again, { status: 304, text: '' })
})

t.test('the picture follows the title and the cover, and each is drawn once', async (t) => {
  const folder = join(app.config.dataDir, 'cache/cards')
  const before = (await readdir(folder)).length
  const etag = async () => (await picture(`/games/${open.slug}/card.png`)).headers.etag
  const first = await etag()
  await (await platform.program(maker)).patch(`/api/games/${open.id}`, { title: 'Łódź Relay' })
  const [second, ...same] = await Promise.all([etag(), etag(), etag(), etag()])
  t.not(second, first)
  t.same(new Set(same), new Set([second]))
  t.equal((await readdir(folder)).length, before + 1, 'four asked, one was drawn')

  const red = new PNG({ width: 64, height: 48 })
  for (let at = 0; at < red.data.length; at += 4) red.data.writeUInt32BE(0xff0000ff, at)
  const boundary = 'x'
  const body = Buffer.concat([
    Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n`,
    ),
    PNG.sync.write(red),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
  const added = await (await platform.program(maker)).post(`/api/games/${open.id}/media`, body, {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  })
  t.equal(added.status, 201)
  const { png } = await picture(`/games/${open.slug}/card.png`)
  t.equal(png?.data.readUInt32BE((300 * 1200 + 900) * 4), 0xff0000ff, "the game's own cover is in it")
})

t.test('a title in letters that the typefaces lack leaves the whole card to the drawing', async (t) => {
  const game = await platform.game(maker, { title: '屋上リレー', url })
  const { png } = await picture(`/games/${game.slug}/card.png`)
  t.ok(png)
  t.not(png?.data.readUInt32BE((20 * 1200 + 20) * 4), 0xfaf7f1ff, 'no empty paper at the left')
})

t.test('of a private game nothing is seen anywhere', async (t) => {
  t.equal((await picture(`/games/${secret.slug}/card.png`)).status, 404)
  t.equal((await picture('/games/no-such-game/card.png')).status, 404)
  const page = (await maker.get(`/games/${secret.slug}`)).text
  t.equal(content(page, 'og:image'), undefined)
  const parts = (await stranger.get('/sitemap.xml')).text.match(/<loc>[^<]*/g) ?? []
  const listed = await Promise.all(
    parts.map(async (part) => (await stranger.get(new URL(part.slice(5)).pathname)).text),
  )
  for (const text of [...listed, (await stranger.get('/feed.xml')).text]) {
    t.notMatch(text, secret.slug)
    t.notMatch(text, empty.slug, 'nor of one without anything to play')
  }
  t.match(listed.join(), `<loc>${portal}/games/${open.slug}</loc>`)
  t.match(listed.join(), `<loc>${portal}/docs/quick-start</loc>`)
  t.match(listed.join(), `<loc>${portal}/catalog</loc>`)
  t.equal((await stranger.get('/sitemaps/games/nothing.xml')).status, 404)
  t.equal((await stranger.get('/sitemaps/nothing/all.xml')).status, 404)
  t.equal((await stranger.get('/sitemaps/games/..%2Fx.xml')).status, 400)
})

t.test('parts of the sitemap divide the games without a gap', async (t) => {
  for (let number = 0; number < 5; number++) await platform.game(maker, { title: `Part ${number}`, url })
  const whole = gamePages(app.db)
  const [only] = await whole.starts()
  const all = (await whole.pages(only ?? '')).map(({ path }) => path)
  const small = gamePages(app.db, 3)
  const starts = await small.starts()
  t.equal(starts.length, Math.ceil(all.length / 3))
  const parts = await Promise.all(starts.map((start) => small.pages(start)))
  t.same(
    parts.flat().map(({ path }) => path),
    all,
  )
})

t.test('new games are a feed that readers find on every page', async (t) => {
  const { text, headers, status } = await stranger.get('/feed.xml')
  t.match({ status, type: headers['content-type'] }, { status: 200, type: /^application\/atom\+xml/ })
  t.match(text, /<feed xmlns="http:\/\/www\.w3\.org\/2005\/Atom">/)
  t.match(text, `<title>Łódź Relay</title>`)
  t.match(text, `href="${portal}/games/${open.slug}"`)
  t.ok(text.indexOf('Part 4') < text.indexOf('Łódź Relay'), 'the newest first')
  t.equal(text.match(/<id>/g)?.length, new Set(text.match(/<id>[^<]*/g)).size, 'every entry has an id of its own')
  const etag = headers.etag ?? ''
  t.equal((await stranger.get('/feed.xml', { headers: { 'if-none-match': etag } })).status, 304)
  t.match((await stranger.get('/docs')).text, /<link rel="alternate"[^>]*application\/atom\+xml[^>]*\/feed\.xml"/)
  t.equal(escapeXml('a\u0000<b>&"\ud800c\n'), 'a&lt;b&gt;&amp;&quot;c\n', 'what XML cannot hold is left out')
})

t.test('crawlers are kept from what is somebody’s own, and from nothing else', async (t) => {
  const { text, headers } = await stranger.get('/robots.txt')
  t.match(headers['content-type'], /^text\/plain/)
  t.match(text, `Sitemap: ${portal}/sitemap.xml`)
  const rules = [...text.matchAll(/^Disallow: (.+)$/gm)].map(([, rule = '']) => {
    const escaped = rule
      .replace(/\$$/, '')
      .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
    return new RegExp(`^${escaped}${rule.endsWith('$') ? '$' : ''}`)
  })
  const allowed = (path: string) => !rules.some((rule) => rule.test(path))
  for (const path of ['/', '/catalog', `/games/${open.slug}`, '/docs', '/docs/rooms', '/docs/api', '/feed.xml'])
    t.ok(allowed(path), `${path} may be read`)
  for (const path of [
    '/settings',
    '/settings/tokens',
    '/games',
    '/games/new',
    `/games/${open.slug}/settings`,
    '/api/games',
  ])
    t.notOk(allowed(path), `${path} may not`)
})

t.test('there are icons of every kind, and a manifest that names them', async (t) => {
  const home = (await stranger.get('/')).text
  t.match(home, /rel="manifest" href="\/manifest\.webmanifest"/)
  const { body, headers } = await stranger.get('/manifest.webmanifest')
  t.match(headers['content-type'], /^application\/manifest\+json/)
  const manifest = typeof body === 'string' ? JSON.parse(body) : body
  t.equal(manifest.name, 'Gameyard')
  for (const { src, sizes, type } of manifest.icons.filter((icon: { type: string }) => icon.type === 'image/png')) {
    const { png, headers } = await picture(src)
    t.equal(`${png?.width}x${png?.height}`, sizes, src)
    t.equal(headers['content-type'], type)
  }
  t.match((await picture('/apple-touch-icon.png')).png, { width: 180, height: 180 })
  const ico = await app.inject({ url: '/favicon.ico', headers: { host: new URL(portal).host } })
  t.equal(ico.headers['content-type'], 'image/x-icon')
  t.same([...ico.rawPayload.subarray(0, 8)], [0, 0, 1, 0, 1, 0, 32, 32])
  t.match(PNG.sync.read(ico.rawPayload.subarray(22)), { width: 32, height: 32 })
})

t.test(
  'below a game are others of its maker and with the first of its tags that others have, each once, and no private one',
  async (t) => {
    const other = await platform.signUp({ name: 'Ada' })
    const first = await platform.game(other, { title: 'First', url, tags: ['alone', 'sundial'] })
    await platform.game(other, { title: 'Second', url, tags: ['sundial'] })
    await platform.game(other, { title: 'Hidden', url, tags: ['sundial'], visibility: 'private' })
    await platform.game(maker, { title: 'Third', url, tags: ['sundial'] })
    const { text } = await stranger.get(`/games/${first.slug}`)
    const titles = [...text.slice(text.indexOf('More by Ada')).matchAll(/class="game-title"[^>]*>(?:<bdi>)?([^<]*)/g)]
    t.same(
      titles.map(([, title]) => title),
      ['Second', 'Third'],
    )
    t.match(text, /More with sundial/)
  },
)

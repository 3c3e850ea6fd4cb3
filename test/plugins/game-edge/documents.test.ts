// Pages as people write them: without a doctype or body, in other encodings, and large ones. All get the sign-in button and,
// in a frame, the frame's session.
import { type IncomingHttpHeaders, request } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { openBrowser, openPage } from '../../kit/browser.ts'
import { startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { deploy, sha256 } from './kit.ts'

const WIDGET = '<script type="module" src="/__service/auth-widget.js"></script>'
const FRAME = /<script src="\/__service\/frame-session[^>]+><\/script>/
const OPENED = { 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' }
const FRAMED = { 'sec-fetch-dest': 'iframe', 'sec-fetch-mode': 'navigate' }
const DECODERS = { identity: (bytes: Buffer) => bytes, br: brotliDecompressSync, gzip: gunzipSync }
const FETCHED = { 'sec-fetch-dest': 'empty' }

/** Publishes pages, and returns a function that sends requests over a socket. */
async function published(t: Test, files: Record<string, string | Buffer>) {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  await deploy(platform, await platform.program(owner), game.id, files)
  const { port } = platform.app.server.address() as { port: number }
  const ask = (
    path: string,
    headers: Record<string, string> = {},
    method = 'GET',
  ): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> =>
    new Promise((resolve, reject) => {
      const host = platform.gameHost(game.slug)
      const outgoing = request({ host: '127.0.0.1', port, path, method, headers: { host, ...headers } })
      outgoing.on('error', reject)
      outgoing.on('response', async (incoming) => {
        const chunks = await incoming.toArray().catch(reject)
        const text = Buffer.concat(chunks ?? []).toString('latin1')
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text })
      })
      outgoing.end()
    })
  return { platform, owner, game, ask, url: platform.app.origins.game(game.slug) }
}

t.test('a page needs no doctype, html or body, and a piece of a page stays one', async (t) => {
  const pages: Record<string, string> = {
    'index.html': '<canvas id=c></canvas><script>c.width=9</script>',
    'text.html': 'Hello',
    'empty.html': '',
    'marked.html': '\ufeff<p>Marked</p>',
    'open.html': '<p>Hello</p><script>let a = "',
    'comment.html': '<!-- js13k --><title>A</title><b>x</b>',
    'part.html': '<li>One</li><li>Two</li>',
  }
  const { ask } = await published(t, pages)
  for (const [path, body] of Object.entries(pages)) {
    const bytes = Buffer.from(body).toString('latin1')
    for (const round of ['first', 'again']) {
      const opened = (await ask(`/${path}`, OPENED)).text
      t.equal(opened.split(WIDGET).join(''), bytes, `${path}, ${round}: the page and nothing else`)
      t.equal(opened.split(WIDGET).length, 2, 'with the button once')
      const framed = (await ask(`/${path}`, FRAMED)).text
      t.match(framed, FRAME)
      t.ok(framed.includes(WIDGET))
      t.equal(framed.replace(FRAME, '').replace(WIDGET, ''), bytes)
      const before = framed.slice(0, framed.search(FRAME))
      t.match(before, /^(?:\xef\xbb\xbf)?(?:<!-- js13k -->)?$/, 'the frame’s session is before all scripts')
      t.equal((await ask(`/${path}`, { accept: 'text/html,*/*;q=0.8' })).text, opened, 'as on plain http')
      t.equal((await ask(`/${path}`, FETCHED)).text.replace(FRAME, ''), bytes, 'a script gets it as it is')
      t.equal((await ask(`/${path}`)).text, bytes)
    }
  }
})

t.test('a page above 4 MiB gets the tags too, compressed, and nothing of it is lost', async (t) => {
  const start = '<!doctype html><html><head><meta charset="utf-8"><title>Twine</title></head><body>'
  const story = `${start}${'passage '.repeat(700_000)}</body></html>`
  const { ask } = await published(t, { 'index.html': story })
  for (const headers of [OPENED, FRAMED]) {
    for (const [coding, decode] of Object.entries(DECODERS)) {
      const accepting = { ...headers, 'accept-encoding': coding }
      const whole = await ask('/', accepting)
      const page = decode(Buffer.from(whole.text, 'latin1')).toString('latin1')
      t.ok(page.replace(FRAME, '').replace(WIDGET, '') === story, `the page as ${coding}`)
      t.ok(page.indexOf(WIDGET) < 1000 && page.indexOf(WIDGET) > 0)
      t.equal(FRAME.test(page), headers === FRAMED)
      const compressed = coding === 'identity' ? undefined : coding
      t.equal(whole.headers['content-encoding'], compressed)
      t.match(whole.headers.vary, /\baccept-encoding\b/)
      if (compressed) t.ok(whole.text.length < story.length / 20, `${whole.text.length} bytes`)
      const { etag = '' } = whole.headers
      t.match(whole.headers, { 'content-length': String(whole.text.length), 'cache-control': 'no-cache' })
      t.not(etag, `"${sha256(story)}"`)
      t.equal((await ask('/', { ...accepting, 'if-none-match': etag })).status, 304)
      t.match(await ask('/', accepting, 'HEAD'), { status: 200, text: '', headers: { etag, 'content-length': /./ } })
      const end = whole.text.length - 1
      for (const [from, to] of [
        [0, 50],
        [60_000, 70_000],
        [end - 9, end],
      ] as const) {
        const { status, text } = await ask('/', { ...accepting, range: `bytes=${from}-${to}` })
        t.ok(
          from > end ? status === 416 : status === 206 && text === whole.text.slice(from, to + 1),
          `${from} to ${to}`,
        )
      }
    }
  }
  t.ok((await ask('/', { 'sec-fetch-dest': 'audio' })).status === 200)
})

t.test('only a page in UTF-8 is called so', async (t) => {
  const page = (head: string, bytes: Buffer) =>
    Buffer.concat([Buffer.from(`<!doctype html><head>${head}</head>`), bytes])
  const latin = Buffer.from('Käse', 'latin1')
  const utf8 = Buffer.from('Käse')
  const pages: Record<string, [body: Buffer, isUtf8: boolean]> = {
    'index.html': [page('', utf8), true],
    'declared.html': [page('<meta charset="UTF-8">', utf8), true],
    'cyrillic.html': [page('<meta charset=windows-1251>', Buffer.from([0xcf, 0xf0, 0xe8])), false],
    'ascii.html': [
      page('<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=shift_jis">', Buffer.from('a')),
      false,
    ],
    'latin.html': [page('<title>A</title>', latin), false],
    'late.html': [page(`<!-- ${'x'.repeat(1100)} --><meta charset="latin1">`, utf8), true],
    'cut.html': [page('', Buffer.from(`${'x'.repeat(1024 ** 2 - 30)}${'ä'.repeat(100)}`)), true],
    'cut2.html': [page('', Buffer.from(`${'x'.repeat(1024 ** 2 - 31)}${'ä'.repeat(100)}`)), true],
    'other.txt': [latin, true],
  }
  const { ask } = await published(t, Object.fromEntries(Object.entries(pages).map(([path, [body]]) => [path, body])))
  for (const [path, [, isUtf8]] of Object.entries(pages)) {
    const expected = `text/${path.endsWith('txt') ? 'plain' : 'html'}${isUtf8 ? '; charset=utf-8' : ''}`
    for (const headers of [OPENED, FRAMED, FETCHED, {}, { ...OPENED, 'accept-encoding': 'br' }])
      t.equal((await ask(`/${path}`, headers)).headers['content-type'], expected, path)
  }
})

t.test('in a browser', { timeout: timeLimit(90) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { url } = await published(t, {
    'index.html':
      '<canvas id=c></canvas><iframe src=inner.html></iframe><script>document.title=document.charset</script>',
    'inner.html':
      '<!doctype html><html><head><script>addEventListener("service:session", (event) => { window.session = event.detail })</script></head><body><h1>Inside</h1></body></html>',
    'latin.html': Buffer.from('<meta charset=windows-1252><h1>K\xe4se</h1>', 'latin1'),
  })
  const { page } = await openPage(browser)
  await page.goto(url)
  await page.locator('service-auth:not([hidden])').waitFor()
  // The widget inside has asked who plays when it reports the session.
  const inner = page.frames()[1]
  await inner?.waitForFunction('window.session')
  t.equal(await inner?.locator('service-auth').isVisible(), false, 'a page inside the game has no second button')
  await page.goto(`${url}/latin.html`)
  t.equal(await page.getByRole('heading').textContent(), 'Käse')
  await page.locator('service-auth:not([hidden])').waitFor()
})

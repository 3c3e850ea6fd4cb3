// Tests the kit itself: runs the browser operations of tests in each engine, on pages that report the result.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { timeLimit } from '../time-limit.ts'
import { startTlsProxy } from '../tls-proxy.ts'
import { until } from '../until.ts'
import { ENGINES, openEngine } from './engine.ts'

const PAGE = `<!doctype html><title>Outer</title><meta name="viewport" content="width=device-width">
  <label>Name <input id="name" value="old"></label>
  <label>Size <select><option>small<option>large</select></label>
  <label>File <input type="file" onchange="this.files[0].text().then((text) => (document.title = text))"></label>
  <button onclick="out.textContent = document.querySelector('#name').value">Say it</button><p id="out"></p>
  <button onclick="window.open('/inner')">Open</button>
  <div id="host"></div><script>host.attachShadow({ mode: 'open' }).innerHTML = '<button>In the shadow</button>'</script>
  <iframe></iframe>`
const INNER = `<!doctype html><title>Inner</title><button onclick="this.textContent = 'pressed'">Press</button>
  <input onkeydown="this.title += event.key">`

async function serve(t: Test): Promise<number> {
  const server = createServer(({ url, headers }, response) => {
    if (url === '/healthz' || url === '/cookies') return response.end(headers.cookie ?? 'none')
    response.setHeader('content-type', 'text/html')
    response.end(url === '/inner' ? INNER : PAGE)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

for (const name of ENGINES) {
  t.test(`${name} does what a person does`, { timeout: timeLimit(120) }, async (t) => {
    const engine = await openEngine(t, name)
    if (!engine) return
    const port = await serve(t)
    const folder = mkdtempSync(join(tmpdir(), 'gameyard-engine-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const base = `http://localhost:${port}`
    const cookies = [{ name: 'who', value: 'ada', url: base }]
    const context = await engine.newContext({ base, cookies, width: 390, height: 700 })
    const page = await context.newPage()
    await page.goto('/cookies')
    t.equal(await page.evaluate('document.body.innerText'), 'who=ada', 'the cookie of this person')

    await page.goto('/')
    t.same(await page.evaluate('[innerWidth, innerHeight]'), [390, 700])
    await page.fill({ label: 'Name' }, 'Ada L.')
    await page.click({ button: 'Say it' })
    t.equal(await page.text('#out'), 'Ada L.')
    await page.select({ label: 'Size' }, 'large')
    t.equal(await page.evaluate('document.querySelector("select").value'), 'large')
    writeFileSync(join(folder, 'a.txt'), 'what is in the file')
    await page.upload({ label: 'File' }, join(folder, 'a.txt'))
    await page.waitFor('document.title === "what is in the file"')
    await page.see({ button: 'In the shadow' })
    t.equal(await page.evaluate((n: number) => Promise.resolve(n + 1), 1), 2)
    await t.rejects(page.evaluate('Promise.reject(new Error("no"))'), /no/)

    await page.evaluate(`document.querySelector('iframe').src = 'http://other.localhost:${port}/inner'`)
    const frame = page.frame()
    await frame.click({ button: 'Press' })
    await frame.see({ button: 'pressed' })
    await frame.click('input')
    for (const key of ['a', 'ArrowLeft']) await page.press(key)
    t.equal(await frame.evaluate('document.querySelector("input").title'), 'aArrowLeft')

    const popup = await context.popup(() => page.click({ button: 'Open' }))
    await popup.waitForUrl(`${base}/inner`)
    await popup.close()
    t.equal((await context.pages()).length, 1)
    await page.resize(1280, 900)
    t.equal(await page.evaluate('innerWidth'), 1280)
    await page.screenshot(join(folder, 'picture.png'))

    const stranger = await (await engine.newContext({ base, colorScheme: 'dark' })).newPage()
    await stranger.goto('/cookies')
    t.equal(await stranger.evaluate('document.body.innerText'), 'none', 'of somebody else')
    t.equal(await stranger.evaluate("matchMedia('(prefers-color-scheme: dark)').matches"), true)
    t.same(page.complaints, [])

    const proxy = await startTlsProxy(t, { port })
    if (!proxy) return
    engine.route('portal.test', proxy.port)
    await stranger.goto('https://www.portal.test/')
    t.equal(await stranger.evaluate('isSecureContext && location.port'), '', 'names of .test, over https')

    await page.goto('/')
    await page.evaluate(`void setTimeout(() => { throw new Error('a mistake') })`)
    await page.evaluate(`console.error('a complaint')`)
    await page.evaluate(`void fetch('http://192.0.2.1/').catch(() => {})`)
    const said = [/a mistake/, /a complaint/, /external request/]
    await until(() => said.every((one) => one.test(page.complaints.join())))
  })
}

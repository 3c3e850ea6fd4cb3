// Tests what people's machines hand to the command line: byte order marks, links, browsers with arguments, proxies.
import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { readInput } from '../../../clients/cli/json-input.ts'
import { openBrowser } from '../../../clients/cli/open-browser.ts'
import { start, temporaryFolder } from '../../bin/program.ts'
import { until } from '../../kit/until.ts'
import { machine, startTestServer } from './kit.ts'

const BOM = '\ufeff'

t.test('files with a byte order mark, a title as HTML has it, and credentials behind a link', async (t) => {
  const platform = await startTestServer(t)
  const { portal } = platform.server
  const mine = machine(t)
  const elsewhere = join(temporaryFolder(t), 'dotfiles')
  mkdirSync(elsewhere)
  mkdirSync(mine.configFolder, { recursive: true })
  const link = join(mine.configFolder, 'credentials.json')
  symlinkSync(join(elsewhere, 'gameyard.json'), link)
  const login = await mine.withInput(`${BOM}${await platform.token()}\n`, 'login', '--with-token', '--url', portal)
  t.equal(login.code, 0, login.stderr)
  t.ok(lstatSync(link).isSymbolicLink(), 'the link stays')
  const kept = join(elsewhere, 'gameyard.json')
  writeFileSync(kept, BOM + readFileSync(kept, 'utf8'))
  t.match(await mine.gameyard('whoami'), { code: 0 })

  mkdirSync(join(mine.cwd, 'dist'))
  // 119 letters, and an emoji of two units that the platform's limit would cut.
  const long = 'a'.repeat(119)
  const page = `${BOM}<!-- <title>Not this</title> --><title>Caf&#233; &amp; &#x1F3AE; &mdash; ${long}</title>`
  writeFileSync(join(mine.cwd, 'dist/index.html'), page)
  writeFileSync(join(mine.cwd, 'gameyard.json'), `${BOM}{ "folder": "dist" }`)
  const { game, error } = await mine.json('deploy', '--create')
  t.equal(error, undefined)
  t.equal(game.title, `Café & 🎮 — ${long}`.slice(0, 120))
  writeFileSync(join(mine.cwd, 'dist/new.txt'), 'new')
  const unread = start(t, ['deploy'], { cwd: mine.cwd, env: mine.env })
  unread.process.stderr?.destroy()
  t.match(await unread.ended, { code: 0, stdout: /^Live/ }, 'messages that nobody reads break no deploy')

  mkdirSync(join(mine.cwd, 'two'))
  writeFileSync(join(mine.cwd, 'two/index.html'), `<title>${long}🎮</title>`)
  const { error: other } = await mine.json('deploy', 'two', '--create')
  t.ok(other.message.includes(`a new one, ${long}.`), other.message)
})

t.test('a character that two chunks of standard input share is one', async (t) => {
  const bytes = Buffer.from(`${BOM}🎮`)
  t.equal(await readInput('-', Readable.from([bytes.subarray(0, 5), bytes.subarray(5)])), '🎮')
})

t.test('BROWSER may have arguments, a place for the address, and alternatives', async (t) => {
  const folder = temporaryFolder(t)
  const browser = join(folder, 'my browser')
  writeFileSync(browser, `#!/bin/sh\nprintf '%s\\n' "$@" > "${folder}/asked"\n`, { mode: 0o755 })
  const url = 'https://yard.example.org/?a=1&b=%20'
  for (const [value, arguments_] of [
    [browser, [url]],
    [`"${browser}" --new-window`, ['--new-window', url]],
    [`'${browser}' --app=%s -x`, [`--app=${url}`, '-x']],
    [`no-such-browser-anywhere -x:"${browser}"`, [url]],
  ] as const) {
    t.ok(await openBrowser(url, { BROWSER: value, PATH: process.env.PATH }, 'linux'), value)
    const wanted = `${arguments_.join('\n')}\n`
    await until(() => existsSync(join(folder, 'asked')) && readFileSync(join(folder, 'asked'), 'utf8') === wanted)
  }
  t.notOk(await openBrowser(url, { BROWSER: 'none' }, 'linux'))
  t.notOk(await openBrowser(url, { BROWSER: 'no-such-browser-anywhere' }, 'linux'))
})

t.test('proxies: without a scheme, with any password, of a kind that is not known, and down', async (t) => {
  const seen: (string | undefined)[] = []
  const target = createServer((_request, response) => {
    response
      .writeHead(400, { 'content-type': 'application/json' })
      .end('{"error":{"code":"arrived","message":"Arrived."}}')
  })
  await listen(t, target)
  const proxy = createServer((request, response) => {
    seen.push(request.headers['proxy-authorization'])
    response
      .writeHead(400, { 'content-type': 'application/json' })
      .end('{"error":{"code":"by_proxy","message":"By the proxy."}}')
  })
  // A tunnel, as for https.
  proxy.on('connect', (request, socket) => {
    seen.push(request.headers['proxy-authorization'])
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  })
  await listen(t, proxy)
  const host = address(proxy).slice('http://'.length)
  const dead = createTcpServer()
  await listen(t, dead)
  const deadHost = address(dead).slice('http://'.length)
  await new Promise((resolve) => dead.close(resolve))
  const mine = machine(t, { SERVICE_API_TOKEN: `svc_api_${'a'.repeat(38)}` })
  const ask = async (platform: string, env: Record<string, string>) => {
    const running = start(t, ['games', 'list', '--json'], {
      cwd: mine.cwd,
      env: { ...mine.env, SERVICE_BASE_URL: platform, ...env },
    })
    return JSON.parse((await running.ended).stdout).error
  }
  const PLAIN = 'http://yard.invalid'
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
  t.match(await ask(PLAIN, { HTTP_PROXY: host }), { code: 'by_proxy' })
  t.match(await ask(PLAIN, { http_proxy: `http://ada:p#w/@${host}` }), { code: 'by_proxy' })
  t.match(await ask(PLAIN, { HTTP_PROXY: `ada:p%23w@${host}/` }), { code: 'by_proxy' })
  t.same(seen.splice(0), [undefined, basic('ada:p#w/'), basic('ada:p#w')])
  const refused = await ask('https://yard.invalid', { HTTPS_PROXY: host })
  t.match(refused, {
    code: 'unreachable',
    message: new RegExp(`The proxy ${host} does not lead to https://yard\\.invalid`),
  })
  const socks = await ask('https://yard.invalid', { HTTPS_PROXY: `socks5://ada:secret@${host}` })
  t.match(socks, { code: 'proxy', message: /HTTPS_PROXY names a socks5 proxy/ })
  const down = await ask(PLAIN, { HTTP_PROXY: `http://ada:secret@${deadHost}` })
  t.match(down, {
    message: new RegExp(`The proxy ${deadHost} does not lead .*connection refused`),
    hint: /HTTP_PROXY names it/,
  })
  t.notMatch(JSON.stringify([socks, down]), /secret/)
  t.match(await ask(address(target), { HTTP_PROXY: `socks5://${deadHost}`, NO_PROXY: '127.0.0.1' }), {
    code: 'arrived',
  })
})

t.test('https to a port without it is said as such', async (t) => {
  const server = createServer((_request, response) => response.end())
  await listen(t, server)
  const mine = machine(t, {
    SERVICE_API_TOKEN: `svc_api_${'a'.repeat(38)}`,
    SERVICE_BASE_URL: address(server).replace('http', 'https'),
  })
  t.match(await mine.json('games', 'list'), { error: { message: /answers without encryption/, hint: /--url http:/ } })
})

async function listen(t: Test, server: ReturnType<typeof createTcpServer>): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
}

const address = (server: ReturnType<typeof createTcpServer>) =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}`

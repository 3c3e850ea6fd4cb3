// The files of deploy/, as they are but for names, ports and paths, before a platform that people play on.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { openBrowser, openPage } from '../kit/browser.ts'
import { hasPrograms } from '../kit/components.ts'
import { ALL } from '../kit/extent.ts'
import { nginxCommand, type ProxyCommand, proxyMissing, runProxy } from '../kit/proxy.ts'
import { freePort, startServer } from '../kit/server.ts'

const PASSWORD = 'correct yard battery fence'
const deploy = (name: string) => readFileSync(resolve(import.meta.dirname, '../../deploy', name), 'utf8')

interface Names {
  /** Where the proxy listens for https and http, and the platform. */
  https: number
  http: number
  platform: number
  folder: string
}

/** The proxy's command line for the file in deploy/. */
type Prepare = (names: Names) => ProxyCommand

const caddy: Prepare = ({ https, http, platform, folder }) => {
  const file = join(folder, 'Caddyfile')
  // A certificate authority of its own in place of Let's Encrypt; everything else as it stands.
  const local = `{\n\tadmin off\n\tlocal_certs\n\tskip_install_trust\n\thttp_port ${http}\n\thttps_port ${https}\n\tstorage file_system ${folder}/caddy\n`
  const text = deploy('Caddyfile')
    .replace(/^\{\n/m, local)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${platform}`)
    .replaceAll('example.org', 'portal.test')
    .replaceAll('example-games.net', 'games.test')
  writeFileSync(file, text)
  const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  return { command: 'caddy', arguments: ['run', '--config', file, '--adapter', 'caddyfile'], env: home }
}

/** Makes a certificate for all names. */
function makeCertificate(folder: string): { key: string; certificate: string } {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const names = 'subjectAltName=DNS:portal.test,DNS:games.test,DNS:*.games.test'
  const made = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=test',
  ]
  execFileSync('openssl', ['req', '-x509', ...made, '-addext', names, '-keyout', key, '-out', certificate], {
    stdio: 'ignore',
  })
  return { key, certificate }
}

const nginx: Prepare = ({ https, http, platform, folder }) => {
  const { key, certificate } = makeCertificate(folder)
  const site = deploy('nginx.conf')
    .replace(/\blisten 80;/, `listen ${http};`)
    .replace(/\blisten 443 /, `listen ${https} `)
    .replace(/^\tlisten \[::\].*\n/gm, '')
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${platform}`)
    .replaceAll('example.org', 'portal.test')
    .replaceAll('example-games.net', 'games.test')
    .replace(/\/etc\/\S+fullchain\.pem/, certificate)
    .replace(/\/etc\/\S+privkey\.pem/, key)
  writeFileSync(join(folder, 'site.conf'), site)
  return nginxCommand(folder, join(folder, 'site.conf'))
}

const apache: Prepare = ({ https, http, platform, folder }) => {
  const { key, certificate } = makeCertificate(folder)
  const text = deploy('apache.conf')
  // What Debian enables by itself, and what the file says that it needs.
  const enabled = ['mpm_event', 'authz_core', 'reqtimeout', 'socache_shmcb']
  const needed = /^#\s+a2enmod (.*)$/m.exec(text)?.[1]?.split(' ') ?? []
  const modules = [...enabled, ...needed].map(
    (name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`,
  )
  const site = text
    .replace('*:80', `*:${http}`)
    .replace('*:443', `*:${https}`)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${platform}`)
    .replaceAll('example.org', 'portal.test')
    .replaceAll('example-games.net', 'games.test')
    .replace(/\/etc\/\S+fullchain\.pem/, certificate)
    .replace(/\/etc\/\S+privkey\.pem/, key)
  const main = `${modules.join('\n')}
ServerRoot ${folder}
ServerName localhost
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
DefaultRuntimeDir ${folder}
Listen ${http}
Listen ${https}
${site}`
  writeFileSync(join(folder, 'apache.conf'), main)
  return { command: 'apache2', arguments: ['-d', folder, '-f', join(folder, 'apache.conf'), '-D', 'FOREGROUND'] }
}

const haproxy: Prepare = ({ https, http, platform, folder }) => {
  const { key, certificate } = makeCertificate(folder)
  const pair = join(folder, 'pair.pem')
  writeFileSync(pair, readFileSync(certificate, 'utf8') + readFileSync(key, 'utf8'))
  const text = deploy('haproxy.cfg')
    .replace('bind :80', `bind :${http}`)
    .replace('bind :443', `bind :${https}`)
    .replace('127.0.0.1:8080', `127.0.0.1:${platform}`)
    .replaceAll('/etc/haproxy/example.org.pem', pair)
    .replaceAll('example.org', 'portal.test')
  writeFileSync(join(folder, 'haproxy.cfg'), text)
  return { command: 'haproxy', arguments: ['-f', join(folder, 'haproxy.cfg')] }
}

async function startProxy(t: Test, prepare: Prepare, names: Omit<Names, 'folder'>) {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-proxy-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await runProxy(t, prepare({ ...names, folder }), names.https)
}

/** A request through the proxy, by name; the certificate is the proxy's own. */
const through = (port: number, name: string, path: string, headers: Record<string, string> = {}) =>
  new Promise<{ status: number; headers: Record<string, unknown> }>((done, fail) => {
    request(
      {
        host: '127.0.0.1',
        port,
        servername: name,
        path,
        rejectUnauthorized: false,
        agent: false,
        headers: { host: `${name}:${port}`, ...headers },
      },
      (answer) => {
        answer.resume()
        answer.on('end', () => done({ status: answer.statusCode ?? 0, headers: answer.headers }))
      },
    )
      .on('error', fail)
      .end()
  })

const GAME = `<!doctype html><meta charset="utf-8"><title>Duo</title><h1>Duo</h1>`

// Each has a browser of its own. The clusters of the long form stand behind nginx.
for (const [name, prepare] of Object.entries(ALL ? { caddy, nginx, apache2: apache, haproxy } : { caddy })) {
  t.test(`signing in and playing through ${name}, over https`, { skip: proxyMissing(name) }, async (t) => {
    const [https, http] = [await freePort(), await freePort()]
    const browser = await openBrowser(t, ['--ignore-certificate-errors', `--host-resolver-rules=MAP *.test 127.0.0.1`])
    if (!browser) return
    const server = await startServer(t, {
      config: {
        portal: { url: `https://portal.test:${https}` },
        games: { domain: `games.test:${https}` },
        trustProxy: ['127.0.0.1', '::1'],
        blender: { driver: 'none' },
      },
    })
    await startProxy(t, prepare, { https, http, platform: server.port })
    const portal = `https://portal.test:${https}`
    const origin = `https://duo.games.test:${https}`

    const { page, complaints } = await openPage(browser, { ignoreHTTPSErrors: true })
    await page.goto(`${portal}/sign-up`)
    await page.getByLabel('Name').fill('Ada')
    await page.getByLabel('Email').fill('ada@example.org')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: /create|sign up/i }).click()
    await page.waitForURL(`${portal}/`)
    t.match(
      (await page.context().cookies(portal)).map(({ name, secure }) => ({ name, secure })),
      [{ name: /^__Host-/, secure: true }],
      'the session is a secure cookie',
    )

    // A deploy by fetch, uploads and all, as a program would.
    const deployed = await page.evaluate(async (html) => {
      const call = async (path: string, body: object, headers = {}) => {
        const answer = await fetch(path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(body),
        })
        return answer.json()
      }
      const scopes = ['games:read', 'games:write', 'deployments:write']
      const { token } = await call('/api/tokens', { label: 'test', scopes })
      const bearer = { authorization: `Bearer ${token}` }
      const game = await call('/api/games', { title: 'Duo', description: 'Two dots.' }, bearer)
      const contents = new Map([
        ['index.html', new TextEncoder().encode(html)],
        // More than proxies let through by themselves.
        ['level.bin', new Uint8Array(3_000_000)],
      ])
      const files = []
      for (const [path, bytes] of contents) {
        const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
        const sha256 = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('')
        files.push({ path, size: bytes.length, sha256 })
      }
      const begun = await call('/api/deploy', { gameId: game.id, files }, bearer)
      for (const { path, uploadUrl, method, headers } of begun.uploads)
        await fetch(uploadUrl, { method, headers, body: contents.get(path) ?? null })
      const { url } = await call(`/api/deploy/${begun.deployId}/finalize`, {}, bearer)
      const stream = await fetch(`/api/games/${game.id}/logs?follow=true`, { headers: bearer })
      const reader = stream.body?.getReader()
      const first = new TextDecoder().decode((await reader?.read())?.value)
      await reader?.cancel()
      return { url, first }
    }, GAME)
    t.match(
      deployed,
      { url: origin, first: /^event: lines/ },
      'a large file arrives, and an event before its stream ends',
    )

    const play = async (game: typeof page) => {
      await game.goto(`${origin}/auth/service/start?returnTo=/`)
      await game.waitForURL(`${origin}/`)
      return game.evaluate(() => fetch('/auth/service/session').then((answer) => answer.json()))
    }
    t.match(await play(page), { signedIn: true, user: { name: 'Ada' } })
    const received = await page.evaluate(async () => {
      const from = '/__service/multiplayer.js'
      const { join } = await import(from)
      const one = await join('lobby')
      const two = await join('lobby')
      const word = new Promise((done) => two.on('message', (_type: string, data: unknown) => done(data)))
      one.send('hello', { over: location.protocol })
      return word
    })
    t.same(received, { over: 'https:' }, 'a room passes what its players say')
    t.same(complaints, [], 'the browser complains about nothing')

    const left = async (forwarded: string) =>
      Number(
        (await through(https, 'portal.test', '/docs', { 'x-forwarded-for': forwarded })).headers['ratelimit-remaining'],
      )
    const before = await left('203.0.113.1')
    t.equal(await left('203.0.113.2'), before - 1, 'whoever claims another address is still the same visitor')

    t.match(await through(https, 'games.test', '/docs'), { status: 302, headers: { location: `${portal}/docs` } })
    const stranger = await through(https, 'none.games.test', '/').catch((error: NodeJS.ErrnoException) => error)
    if (name === 'caddy') t.ok(stranger instanceof Error, 'a name without a game gets no certificate')
    else t.match(stranger, { status: 404 })
    t.equal(await server.stop(), 0)
  })
}

t.test('the nginx file reads the certificate that its certbot command makes, for all of its names', async (t) => {
  const text = deploy('nginx.conf')
  const command = /^#\s+certbot certonly (?:.*\\\n)*.*/m.exec(text)?.[0] ?? ''
  const [, name] = /--cert-name (\S+)/.exec(command) ?? []
  const files = [...text.matchAll(/ssl_certificate(?:_key)?\s+(\S+);/g)].map(([, file]) => file)
  t.same(files, [`/etc/letsencrypt/live/${name}/fullchain.pem`, `/etc/letsencrypt/live/${name}/privkey.pem`])
  const names = [...command.matchAll(/ -d '?([^\s']+)/g)].map(([, one]) => one)
  for (const served of /listen 443[\s\S]*?server_name ([^;]+);/.exec(text)?.[1]?.split(' ') ?? [])
    t.ok(names.includes(served), served)
})

t.test('the unit for systemd is sound', async (t) => {
  if (!hasPrograms(t, 'systemd-analyze')) return
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-unit-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const unit = join(folder, 'gameyard.service')
  writeFileSync(unit, deploy('gameyard.service').replace('/usr/local/bin/gameyard', process.execPath))
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' })
  t.equal(`${stdout}${stderr}`.replaceAll(/^.*(?:\/run\/systemd|bus).*\n/gm, ''), '')
  t.equal(status, 0)
})

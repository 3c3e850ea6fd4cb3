import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import t from 'tap'
import { type BrowserManifest, browserFileNames, folderSource } from '../../../core/data/built-files.ts'
import { browserFileRoutes, loadBrowserFiles } from '../../../core/pages/browser-files.ts'
import { inFull } from '../../kit/extent.ts'

const root = join(import.meta.dirname, '../../..')
const folder = join(root, 'dist/browser')
const build = (...options: string[]) =>
  execFileSync(process.execPath, [join(root, 'build/browser.ts'), ...options], { encoding: 'utf8' })

async function serve() {
  const app = Fastify()
  const files = await loadBrowserFiles(folderSource(folder))
  browserFileRoutes(app, { files, origins: [] })
  app.get('/__service/script.js', async (request, reply) => files.send(request, reply, 'page.js'))
  return { app, files }
}

t.before(() => build('--if-stale'))

t.test('a build that is up to date is not repeated', async (t) => {
  const before = statSync(join(folder, 'manifest.json')).mtimeMs
  t.equal(build('--if-stale'), '')
  t.equal(statSync(join(folder, 'manifest.json')).mtimeMs, before)
})

inFull(t)?.test('a repeated build gives the same names, and every file of its manifest', async (t) => {
  const before = await readFile(join(folder, 'manifest.json'), 'utf8')
  t.match(build(), 'dist/browser: ')
  t.equal(await readFile(join(folder, 'manifest.json'), 'utf8'), before)
  for (const name of browserFileNames(JSON.parse(before) as BrowserManifest))
    t.ok(statSync(join(folder, name)).size > 0, name)
})

t.test('a built file is served for a year, with an entity tag, to GET and HEAD', async (t) => {
  const { app, files } = await serve()
  t.teardown(() => app.close())
  const url = files.url('styles.css')
  t.match(url, /^\/_assets\/styles\.\w{8}\.css$/)
  const answer = await app.inject(url)
  t.equal(answer.statusCode, 200)
  t.equal(answer.headers['cache-control'], 'public, max-age=31536000, immutable')
  t.equal(answer.headers['content-type'], 'text/css; charset=utf-8')
  t.match(answer.headers.etag, /^"[\w-]+"$/, 'a strong one')
  const head = await app.inject({ method: 'HEAD', url })
  t.equal(head.statusCode, 200)
  t.equal(head.body, '')
  t.equal(head.headers['content-length'], String(answer.rawPayload.length))
  const font = await app.inject(files.url('jetbrains-mono-latin-wght-normal.woff2'))
  t.equal(font.headers['content-type'], 'font/woff2')
  t.equal(font.headers.vary, undefined)
  t.match(answer.body, 'prefers-reduced-motion')
  for (const [, file] of answer.body.matchAll(/url\("?(\/_assets\/[^")]+)/g)) {
    t.equal((await app.inject(file as string)).statusCode, 200, `${file}, which the styles ask for`)
  }
})

t.test('the best encoding that the client takes is chosen, each with its own entity tag', async (t) => {
  const { app, files } = await serve()
  t.teardown(() => app.close())
  const url = files.url('styles.css')
  const plain = (await app.inject(url)).rawPayload
  const ask = async (accepted: string) => app.inject({ url, headers: { 'accept-encoding': accepted } })
  const expected: [string, string | undefined][] = [
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['BR', 'br'],
    ['*', 'br'],
    ['identity', undefined],
    ['identity;q=1, br;q=0.2', undefined],
    ['br;q=nonsense', undefined],
    ['deflate', undefined],
    ['', undefined],
  ]
  const tags = new Map<string | undefined, unknown>()
  for (const [accepted, coding] of expected) {
    const answer = await ask(accepted)
    t.equal(answer.headers['content-encoding'], coding, `"${accepted}" gets ${coding ?? 'it plain'}`)
    t.equal(answer.headers.vary, 'accept-encoding')
    tags.set(coding, answer.headers.etag)
  }
  t.equal(new Set(tags.values()).size, 3)
  t.same(brotliDecompressSync((await ask('br')).rawPayload), plain)
  t.same(gunzipSync((await ask('gzip')).rawPayload), plain)
})

t.test('a client that has it already gets 304', async (t) => {
  const { app, files } = await serve()
  t.teardown(() => app.close())
  const url = files.url('page.js')
  const { etag } = (await app.inject(url)).headers
  for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const answer = await app.inject({ url, headers: { 'if-none-match': tag as string } })
    t.equal(answer.statusCode, 304, String(tag))
    t.equal(answer.body, '')
    t.equal(answer.headers.etag, etag)
  }
  t.equal((await app.inject({ url, headers: { 'if-none-match': '"other"' } })).statusCode, 200)
})

t.test('a plugin can serve a file under an address that stays', async (t) => {
  const { app, files } = await serve()
  t.teardown(() => app.close())
  const answer = await app.inject('/__service/script.js')
  t.equal(answer.headers['cache-control'], 'public, max-age=0, must-revalidate')
  t.equal(answer.headers['content-type'], 'text/javascript; charset=utf-8')
  t.same(answer.rawPayload, files.get('page.js').body)
})

t.test('what was not built is not found, whatever the path looks like', async (t) => {
  const { app, files } = await serve()
  t.teardown(() => app.close())
  for (const path of [
    'styles.css',
    'manifest.json',
    '..%2f..%2fpackage.json',
    'styles.00000000.css',
    '%00',
    'constructor',
  ]) {
    t.equal((await app.inject(`/_assets/${path}`)).statusCode, 404, path)
  }
  t.throws(() => files.url('nothing.js'), /has no nothing\.js/)
})

t.test('a start without a build says what to do', async (t) => {
  const empty = await mkdtemp(join(tmpdir(), 'gameyard-browser-files-'))
  t.teardown(() => rm(empty, { recursive: true }))
  await t.rejects(loadBrowserFiles(folderSource(empty)), /run `npm run build:browser` first/)
  const torn = async (name: string) => (name === 'manifest.json' ? readFile(join(folder, name)) : null)
  await t.rejects(loadBrowserFiles(torn), /lacks .*run `npm run build:browser` again/)
})

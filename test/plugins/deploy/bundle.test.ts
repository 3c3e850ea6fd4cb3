import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'
import { type Build, build, filesOf, liveBuild, sha256, tarEntry, tarOf } from './build.ts'

const FILES: Build = {
  ...build('bundled', 40),
  'empty.txt': '',
  'copy.txt': 'same',
  'copy2.txt': 'same',
  'large.bin': Buffer.alloc(1_500_000, 'gameyard'),
}
const END = Buffer.alloc(1024)

interface Bundle {
  url: string
  method: 'PUT'
  headers: Record<string, string>
  maxBytes: number
}

async function started(t: Test, files = FILES) {
  const platform = await startPlatform(t, { listen: true })
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const start = async () => {
    const { status, text, body } = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files) })
    if (status !== 200) throw new Error(text)
    return { deployId: body.deployId as string, bundle: body.bundle as Bundle }
  }
  return { platform, game, program, start, ...(await start()) }
}

async function send({ url, method, headers }: Bundle, body: Buffer) {
  const answer = await fetch(url, { method, headers, body: new Uint8Array(body) })
  const text = await answer.text()
  return { status: answer.status, ...(text ? (JSON.parse(text).error as { code: string; message: string }) : {}) }
}

const missingOf = async ({ url }: Bundle) => ((await (await fetch(url)).json()) as { missing: string[] }).missing
const digestsOf = (files: Build) => new Set(Object.values(files).map((bytes) => sha256(bytes)))

t.test('a build arrives in one request, and nothing of it is asked for again', async (t) => {
  const { platform, game, program, start, deployId, bundle } = await started(t)
  t.match(bundle, { method: 'PUT', headers: { 'content-type': 'application/x-tar' }, url: /\/bundle\?expires=/ })
  t.equal(bundle.maxBytes, tarOf(FILES).length - END.length + 10_240)
  t.same(new Set(await missingOf(bundle)), digestsOf(FILES))
  t.same(await send(bundle, tarOf(FILES)), { status: 204 })
  t.same(await missingOf(bundle), [])
  // Each batch of new files has a journal, which is kept for half a minute.
  const journals = () => readdirSync(join(platform.app.config.dataDir, 'blobs', '~journals'))
  const before = journals()
  t.ok(before.length > 0)
  t.same(await send(bundle, tarOf(FILES)), { status: 204 }, 'again')
  t.same(journals(), before, 'files that have arrived are not stored again')
  t.equal((await program.post(`/api/deploy/${deployId}/finalize`)).status, 200)
  const expected = Object.fromEntries(Object.entries(FILES).map(([path, bytes]) => [path, String(bytes)]))
  t.same(await liveBuild(platform, game.id), expected)
  t.match(await send(bundle, tarOf(FILES)), { status: 409, code: 'conflict' }, 'a deploy that is live takes no files')
  t.equal((await fetch(bundle.url)).status, 409)
  t.equal((await start()).bundle, undefined, 'nothing is wanted')
})

t.test('archives of other programs are taken', async (t) => {
  const { platform, game, program } = await started(t)
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-tar-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const format of ['ustar', 'gnu']) {
    const files = { ...FILES, 'index.html': format }
    for (const bytes of Object.values(files)) writeFileSync(join(folder, sha256(bytes)), bytes)
    const { body } = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files) })
    const names = await missingOf(body.bundle)
    const archive = execFileSync('tar', ['-c', `--format=${format}`, ...names], { cwd: folder, maxBuffer: 1e8 })
    t.same(await send(body.bundle, archive), { status: 204 }, format)
    t.equal((await program.post(`/api/deploy/${body.deployId}/finalize`)).status, 200, format)
    t.equal((await liveBuild(platform, game.id))['index.html'], format)
  }
})

t.test('the first file with other bytes is named, and those before it count', async (t) => {
  const { bundle } = await started(t)
  const contents = Object.entries(FILES).filter(([path]) => path !== 'copy2.txt')
  const wrong = contents.map(([path, bytes]) =>
    tarEntry(sha256(bytes), path === 'js/7.js' ? Buffer.from('"Bundled/7"') : Buffer.from(bytes)),
  )
  const refused = await send(bundle, Buffer.concat([...wrong, END]))
  t.match(refused, { status: 422, code: 'digest_mismatch', message: /js\/7\.js/ })
  const missing = await missingOf(bundle)
  const at = contents.findIndex(([path]) => path === 'js/7.js')
  t.same(new Set(missing), new Set(contents.slice(at).map(([, bytes]) => sha256(bytes))))
  const rest = contents.filter(([, bytes]) => missing.includes(sha256(bytes)))
  t.same(await send(bundle, tarOf(Object.fromEntries(rest))), { status: 204 })
  t.same(await missingOf(bundle), [])
})

t.test('what is no archive of wanted files gets one clear error', async (t) => {
  const { bundle } = await started(t)
  const [name, bytes] = [sha256(FILES['index.html'] as string), Buffer.from(FILES['index.html'] as string)]
  const good = tarEntry(name, bytes)
  /** Changes a header and corrects its checksum, unless told otherwise. */
  const edited = (change: (header: Buffer) => void, corrected = true) => {
    const entry = Buffer.from(good)
    change(entry)
    if (corrected) {
      entry.fill(' ', 148, 156)
      const sum = entry.subarray(0, 512).reduce((all, byte) => all + byte, 0)
      entry.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
    }
    return entry
  }
  const cases: [string, Buffer, number, RegExp][] = [
    ['a foreign name', tarEntry(sha256('foreign'), Buffer.from('foreign')), 400, /not the digest of a file/],
    ['a path as a name', tarEntry('../../index.html', bytes), 400, /not the digest of a file/],
    ['a file twice', Buffer.concat([good, good]), 400, /in it twice/],
    ['another size', tarEntry(name, bytes.subarray(1)), 422, /was announced with/],
    ['a folder', edited((header) => header.write('5', 156)), 400, /not a plain file/],
    ['a link', edited((header) => header.write('2', 156)), 400, /not a plain file/],
    ['an extended header', edited((header) => header.write('x', 156)), 400, /not a plain file/],
    ['a wrong checksum', edited((header) => header.write('1', 120), false), 400, /checksum/],
    ['no format', edited((header) => header.fill(0, 257, 265)), 400, /ustar/],
    ['a size in letters', edited((header) => header.write('zzz', 124)), 400, /not a number/],
    ['a negative size', edited((header) => header.fill(0xff, 124, 136)), 400, /not a number/],
    ['text', Buffer.alloc(2048, 'gameyard '), 400, /checksum/],
  ]
  for (const [what, entry, status, message] of cases)
    t.match(await send(bundle, Buffer.concat([entry, END])), { status, message }, what)
  t.match(await send(bundle, Buffer.alloc(0)), { status: 400, message: /two blocks of zeros/ }, 'nothing')
  t.match(await send(bundle, good), { status: 400, message: /two blocks of zeros/ }, 'no end')
  t.match(await send(bundle, good.subarray(0, 700)), { status: 400, message: /two blocks of zeros/ }, 'half a file')
  const followed = Buffer.concat([good, END, Buffer.from('x')])
  t.match(await send(bundle, followed), { status: 400, message: /after its end/ }, 'bytes after the end')
  const single = Buffer.concat([good, END.subarray(512), good])
  t.match(await send(bundle, single), { status: 400, message: /not an end/ }, 'one block of zeros')
  t.equal((await missingOf(bundle)).length, digestsOf(FILES).size - 1, 'the whole file before an error counts')
  const padded = Buffer.concat([good, END, Buffer.alloc(10_240)])
  t.same(await send(bundle, padded), { status: 204 }, 'zeros after the end are usual')
})

t.test('the size is announced, and bounded by the files', async (t) => {
  const { bundle } = await started(t)
  const answered = async (headers: Record<string, string | number>, end: boolean) => {
    const sending = request(bundle.url, { method: 'PUT', headers: { ...bundle.headers, ...headers } })
    sending.on('error', () => {})
    sending.write('x')
    if (end) sending.end()
    const [answer] = (await once(sending, 'response')) as [IncomingMessage]
    await json(answer)
    sending.destroy()
    return answer.statusCode
  }
  t.equal(await answered({ 'content-length': bundle.maxBytes + 1 }, false), 413)
  t.equal(await answered({ 'transfer-encoding': 'chunked' }, true), 411)
})

t.test('an address holds for its deploy only, as it was given, and until it expires', async (t) => {
  const { platform, start, bundle, deployId } = await started(t)
  const other = await start()
  const archive = tarOf(FILES)
  for (const [name, url] of [
    ["another deploy's", bundle.url.replace(deployId, other.deployId)],
    ['a later expiry', bundle.url.replace(/expires=\d+/, 'expires=99999999999')],
    ['another signature', bundle.url.replace(/signature=.{43}/, `signature=${'A'.repeat(43)}`)],
    ['no signature', bundle.url.replace(/[?].*/, '')],
  ] as const) {
    t.match(await send({ ...bundle, url }, archive), { status: 403, code: 'forbidden' }, name)
    t.equal((await fetch(url)).status, 403, name)
  }
  platform.clock.advance(86_400_001)
  t.match(await send(other.bundle, archive), { status: 403 }, 'expired')
})

t.test('a bundle that is cut off goes on where it stopped', async (t) => {
  const { platform, game, program, bundle, deployId } = await started(t)
  const archive = tarOf(FILES)
  const { pathname, search, port } = new URL(bundle.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    `PUT ${pathname}${search} HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: ${archive.length}\r\n\r\n`,
  )
  // The end of the connection follows the bytes, so the server reads these.
  await new Promise((sent) => socket.write(archive.subarray(0, 20_000), sent))
  socket.destroy()
  const all = digestsOf(FILES).size
  const missing = await until(async () => {
    const left = await missingOf(bundle)
    return left.length < all && left
  })
  t.ok(missing.length > 0, 'the rest is missing')
  const rest = Object.fromEntries(Object.entries(FILES).filter(([, bytes]) => missing.includes(sha256(bytes))))
  t.same(await send(bundle, tarOf(rest)), { status: 204 })
  t.equal((await program.post(`/api/deploy/${deployId}/finalize`)).status, 200)
  t.equal((await liveBuild(platform, game.id))['js/3.js'], '"bundled/3"')
})

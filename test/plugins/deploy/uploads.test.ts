import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { DeployUpload } from '../../../plugins/deploy/entities.ts'
import { startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'
import { filesOf, liveBuild, sha256 } from './build.ts'

const FILES = { 'index.html': '<h1>hello</h1>', 'big.bin': Buffer.alloc(3_000_000, 'gameyard') }

async function started(t: Test) {
  const platform = await startPlatform(t, { listen: true })
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const start = async () => {
    const { body } = await program.post('/api/deploy', { gameId: game.id, files: filesOf(FILES) })
    const urls = Object.fromEntries(
      body.uploads.map((wanted: { path: string; uploadUrl: string }) => [wanted.path, wanted.uploadUrl]),
    )
    return { deployId: body.deployId as string, urls: urls as Record<keyof typeof FILES, string> }
  }
  const kept = async () => {
    const keys: string[] = []
    for await (const { key } of platform.app.storage.list('')) keys.push(key)
    const rows = await platform.app.db.em().find(DeployUpload, {})
    return { blobs: keys.length, uploads: rows.length }
  }
  return { platform, game, program, start, kept, ...(await start()) }
}

const put = async (url: string, body: string | Buffer) => {
  const answer = await fetch(url, { method: 'PUT', body: new Uint8Array(Buffer.from(body)) })
  const text = await answer.text()
  return { status: answer.status, code: text && JSON.parse(text).error.code }
}

/** Sends the head of an upload of so many bytes, and only the first of them: the head alone is refused. */
async function announce(url: string, bytes: number) {
  const sending = request(url, { method: 'PUT', headers: { 'content-length': bytes } })
  // The server may end the connection while bytes are still expected.
  sending.on('error', () => {})
  sending.write('x')
  const [answer] = (await once(sending, 'response')) as [IncomingMessage]
  const body = (await json(answer)) as { error: { code: string } }
  sending.destroy()
  return { status: answer.statusCode, code: body.error.code }
}

t.test('uploads over a real socket, whatever their type', async (t) => {
  const { platform, game, program, urls, deployId, kept } = await started(t)
  for (const type of [
    'text/html',
    'application/json',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
  ]) {
    const answer = await fetch(urls['index.html'], {
      method: 'PUT',
      headers: { 'content-type': type },
      body: FILES['index.html'],
    })
    t.equal(answer.status, 204, type)
  }
  t.same(await put(urls['big.bin'], FILES['big.bin']), { status: 204, code: '' })
  t.same(await kept(), { blobs: 2, uploads: 2 })
  t.equal((await program.post(`/api/deploy/${deployId}/finalize`)).status, 200)
  t.equal((await liveBuild(platform, game.id))['index.html'], FILES['index.html'])
})

t.test('lies about bytes keep nothing', async (t) => {
  const { urls, kept } = await started(t)
  const wrong = Buffer.from(FILES['big.bin'])
  wrong[2_999_999] = 0
  t.same(await put(urls['index.html'], '<h1>hellO</h1>'), { status: 422, code: 'digest_mismatch' })
  t.same(await put(urls['big.bin'], wrong), { status: 422, code: 'digest_mismatch' })
  t.same(await put(urls['index.html'], 'short'), { status: 422, code: 'digest_mismatch' })
  t.same(await put(urls['index.html'], `${FILES['index.html']}!`), { status: 422, code: 'digest_mismatch' })
  t.same(await put(urls['index.html'], ''), { status: 422, code: 'digest_mismatch' })
  t.same(await announce(urls['index.html'], 600 * 1024 * 1024), { status: 413, code: 'payload_too_large' })
  t.same(await kept(), { blobs: 0, uploads: 0 })
})

t.test('the size must be said beforehand', async (t) => {
  const { urls, kept } = await started(t)
  const status = await new Promise((resolve, reject) => {
    const chunked = request(urls['index.html'], { method: 'PUT' }, (answer) => resolve(answer.resume().statusCode))
    chunked.on('error', reject)
    chunked.write(FILES['index.html'])
    chunked.end()
  })
  t.equal(status, 411)
  t.same(await kept(), { blobs: 0, uploads: 0 })
})

t.test('an address holds for its deploy and its bytes only, as it was given, and until it expires', async (t) => {
  const { platform, start, urls, deployId, kept } = await started(t)
  const other = await start()
  const bytes = FILES['index.html']
  const url = new URL(urls['index.html'])
  const edited = (change: (url: URL) => void) => {
    const copy = new URL(url)
    change(copy)
    return copy.href
  }
  const movedTo = (from: string, to: string) => url.href.replace(from, to)
  const bigger = sha256(FILES['big.bin'])
  for (const [name, address] of [
    ["another deploy's", movedTo(deployId, other.deployId)],
    ["another file's", movedTo(sha256(bytes), bigger)],
    ['a later expiry', edited((copy) => copy.searchParams.set('expires', '99999999999'))],
    ['another signature', edited((copy) => copy.searchParams.set('signature', 'A'.repeat(43)))],
    ['no signature', edited((copy) => copy.searchParams.delete('signature'))],
    ['no query', url.origin + url.pathname],
    ['a second query', `${url.href}&x=1`],
    ['no such deploy', movedTo(deployId, 'dep_01ARZ3NDEKTSV4RRFFQ69G5FAV')],
    ['no such file', movedTo(sha256(bytes), sha256('x'))],
  ] as const)
    t.same(await put(address, bytes), { status: 403, code: 'forbidden' }, name)
  t.same(await kept(), { blobs: 0, uploads: 0 })
  t.same(await put(url.href, bytes), { status: 204, code: '' })
  platform.clock.advance(86_400_001)
  t.same(await put(other.urls['index.html'], bytes), { status: 403, code: 'forbidden' }, 'expired')
})

t.test('an upload that is cut off keeps nothing, and can be sent again', async (t) => {
  const { platform, urls, kept } = await started(t)
  const { pathname, search, port } = new URL(urls['big.bin'])
  const received = once(platform.app.server, 'request')
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: 3000000\r\n\r\n`)
  socket.write(FILES['big.bin'].subarray(0, 1_000_000))
  const [{ socket: serverSide }] = (await received) as [IncomingMessage]
  await until(() => serverSide.bytesRead > 1_000_000)
  const ended = new Promise((done) => serverSide.once('close', done))
  socket.resetAndDestroy()
  await ended
  t.same(await kept(), { blobs: 0, uploads: 0 })
  t.same(await put(urls['big.bin'], FILES['big.bin']), { status: 204, code: '' })
  t.same(await kept(), { blobs: 1, uploads: 1 })
})

t.test('eight uploads of the same bytes at once are one blob', async (t) => {
  const { urls, kept } = await started(t)
  const answers = await Promise.all(Array.from({ length: 8 }, () => put(urls['big.bin'], FILES['big.bin'])))
  for (const answer of answers) t.equal(answer.status, 204)
  t.same(await kept(), { blobs: 1, uploads: 1 })
})

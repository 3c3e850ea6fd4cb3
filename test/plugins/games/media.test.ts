import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join, resolve } from 'node:path'
import t from 'tap'
import { inspect } from '../../../plugins/games/media/inspect.ts'
import { gifOfCodes, gifOfFrames, jpegOfScans, pngOfChunks } from '../../kit/hostile-images.ts'
import { type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'
import { gif, largePng, png, sendFile } from './pictures.ts'

const only = ['oauth-idp', 'tokens', 'quotas', 'games']

const folder = resolve(import.meta.dirname, '../../fixtures/media')
const fixture = (name: string) => readFileSync(join(folder, name))
/** Files of 64 × 48 pixels each that a browser created. */
const FIXTURES = {
  'photo.jpg': 'image/jpeg',
  'drawing.webp': 'image/webp',
  'lossless.webp': 'image/webp',
  'picture.png': 'image/png',
  'clip.mp4': 'video/mp4',
  'clip.webm': 'video/webm',
}
const bytesOf = (file: Buffer) => ({
  size: file.length,
  read: async (offset: number, length: number) => file.subarray(offset, offset + length),
})
const blobs = async (platform: Platform) => {
  const keys: string[] = []
  for await (const { key } of platform.app.storage.list('games/media/')) keys.push(key)
  return keys
}
const temporary = (platform: Platform) =>
  readdirSync(platform.app.config.dataDir).filter((name) => name.startsWith('.upload'))

t.test('pictures and videos are known by their bytes, and served so that nothing in them runs', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  const url = `/api/games/${game.id}/media`
  for (const [name, contentType] of Object.entries(FIXTURES)) {
    const { status, body } = await sendFile(program, url, fixture(name), 'no-matter.txt')
    t.equal(status, 201, name)
    t.match(body, { id: /^med_/, kind: contentType.split('/')[0], width: 64, height: 48 })
    const served = await platform.stranger.get(new URL(body.url).pathname)
    t.match(served, {
      status: 200,
      headers: {
        'content-type': contentType,
        'content-security-policy': "sandbox; default-src 'none'",
        'x-content-type-options': 'nosniff',
        'cache-control': 'public, max-age=31536000, immutable',
        'content-length': String(fixture(name).length),
        etag: /^"[0-9a-f]{64}"$/,
      },
    })
  }
  t.match(await sendFile(program, url, gif(30, 20)), { status: 201, body: { kind: 'image', width: 30, height: 20 } })

  const { media, coverUrl } = (await program.get(`/api/games/${game.id}`)).body
  t.equal(media.length, 7)
  t.equal(coverUrl, media[0].url, 'the first picture is the cover')
  const path = new URL(media[4].url).pathname
  const bytes = fixture('clip.mp4')
  const part = await platform.app.inject({ url: path, headers: { host: 'localhost:8080', range: 'bytes=10-19' } })
  t.equal(part.statusCode, 206)
  t.same(part.rawPayload, bytes.subarray(10, 20))
  t.equal(part.headers['content-range'], `bytes 10-19/${bytes.length}`)
  t.match(await platform.stranger.get(path, { headers: { range: `bytes=${bytes.length}-` } }), {
    status: 416,
    headers: { 'content-range': `bytes */${bytes.length}` },
  })
  const { headers } = await platform.stranger.get(path)
  t.equal((await platform.stranger.get(path, { headers: { 'if-none-match': headers.etag } })).status, 304)
  const head = await platform.stranger.request('HEAD', path)
  t.match(head, { status: 200, headers: { 'content-length': String(bytes.length) }, text: '' })
  t.equal((await platform.stranger.get(path.replace(/mp4$/, 'html'))).status, 404, 'no other type can be asked for')
  t.equal((await platform.stranger.get(path, { host: platform.gameHost(game.slug) })).status, 404, 'only at the portal')
  t.same(temporary(platform), [], 'nothing is left of the uploads')
})

t.test('what is none, is damaged, lies or is too large is refused, and nothing is kept', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  const picture = fixture('picture.png')
  const photo = fixture('photo.jpg')
  const script = Buffer.from('<script>alert(1)</script>')
  const broken = Buffer.from(picture)
  broken[broken.length - 20] = (broken[broken.length - 20] as number) ^ 1
  const lyingPhoto = Buffer.from(photo)
  const frame = lyingPhoto.indexOf(Buffer.from([0xff, 0xc0]))
  lyingPhoto.writeUInt16BE(6000, frame + 5)
  lyingPhoto.writeUInt16BE(6000, frame + 7)
  const lyingWebp = Buffer.from(fixture('drawing.webp'))
  lyingWebp.writeUInt32LE(lyingWebp.length + 100, 4)

  const refused: [string, Buffer, number][] = [
    ['nothing', Buffer.alloc(0), 415],
    ['SVG named .png', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'), 415],
    ['HTML named .png', Buffer.from('<!doctype html><script>alert(1)</script>'), 415],
    ['a PDF', Buffer.from('%PDF-1.7\n'), 415],
    ['an AVIF named as a video', Buffer.from('\0\0\0\x1cftypavif\0\0\0\0', 'latin1'), 415],
    ['a PNG of its first bytes', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), 415],
    ['a PNG with HTML behind it', Buffer.concat([picture, script]), 415],
    ['a JPEG with HTML behind it', Buffer.concat([photo, script]), 415],
    ['a GIF with a ZIP behind it', Buffer.concat([gif(4, 4), Buffer.from('PK\x03\x04')]), 415],
    ['a WebP with HTML behind it', Buffer.concat([fixture('drawing.webp'), script]), 415],
    ['an MP4 with HTML behind it', Buffer.concat([fixture('clip.mp4'), script]), 415],
    ['a JPEG whose comment never ends', Buffer.from('\xff\xd8\xff\xfe\xff\xff<script>', 'latin1'), 415],
    ['a PNG with a flipped bit', broken, 415],
    ['a PNG that says it has more rows', png(64, 4000, 3), 415],
    ['a PNG that unpacks to more', png(64, 3, 4000), 415],
    ['a GIF that says it has more pixels', gif(4000, 4000, 16), 415],
    ['a JPEG that says it is large', lyingPhoto, 415],
    ['a WebP that says it is longer', lyingWebp, 415],
    ['a PNG without width', png(0, 5), 415],
    ['a PNG of 40,000 pixels on a side', png(40_000, 1), 415],
    ['a PNG of 100 megapixels', png(10_000, 10_000, 1), 415],
    ['a PNG of 11 MiB', largePng(11 * 1024 * 1024), 413],
  ]
  for (const [name, bytes, status] of refused) {
    const answer = await sendFile(program, `/api/games/${game.id}/media`, bytes, 'cover.png')
    t.match(answer, { status, body: { error: { message: String } } }, `${name}: ${answer.body?.error?.message}`)
  }
  t.equal((await sendFile(program, `/api/games/${game.id}/media`, largePng(9 * 1024 * 1024))).status, 201)
  t.equal((await blobs(platform)).length, 1, 'only what was taken is stored')
  t.same(temporary(platform), [])
})

t.test('a picture of too many parts is refused, and says how many it may have', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const maker = await platform.program(player)
  const { id } = await platform.game(player)
  const refusals: [Buffer, RegExp][] = [
    [gifOfFrames(2001), /more than 2000 frames/],
    [pngOfChunks(png(9, 9), 1100), /more than 100\d chunks/],
    [jpegOfScans(64, 65), /more than 64 scans/],
  ]
  for (const [file, message] of refusals) {
    const { status, body } = await sendFile(maker, `/api/games/${id}/media`, file)
    t.match({ status, body }, { status: 415, body: { error: { code: 'media_refused', message } } })
    await t.rejects(inspect(bytesOf(file)), { message })
  }
  t.equal((await sendFile(maker, `/api/games/${id}/media`, gifOfFrames(2000))).status, 201)
})

t.test('an upload is inspected outside of the event loop', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const maker = await platform.program(player)
  const { id } = await platform.game(player)
  const main = process.threadCpuUsage()
  const whole = process.cpuUsage()
  t.equal((await sendFile(maker, `/api/games/${id}/media`, gifOfCodes(4_000_000))).status, 201)
  const [used, usedByAll] = [process.threadCpuUsage(main), process.cpuUsage(whole)]
  t.ok(used.user * 2 < usedByAll.user, `${used.user} of ${usedByAll.user} µs`)
})

t.test('an index of very many parts is refused', async (t) => {
  // 2 bytes an element: the size of nothing, of an id that means nothing.
  const element = (id: number[], content: Buffer) =>
    Buffer.concat([Buffer.from([...id, 0x10, ...[16, 8, 0].map((shift) => (content.length >> shift) & 255)]), content])
  const parts = Buffer.alloc(1_000_000).fill(Buffer.from([0xec, 0x80]))
  const tracks = element([0x16, 0x54, 0xae, 0x6b], parts)
  const segment = element([0x18, 0x53, 0x80, 0x67], tracks)
  const head = element([0x1a, 0x45, 0xdf, 0xa3], Buffer.from([0x42, 0x82, 0x84, ...Buffer.from('webm')]))
  await t.rejects(inspect(bytesOf(Buffer.concat([head, segment]))), {
    code: 'media_refused',
    message: /too many parts/,
  })
})

t.test('a file cut off anywhere is refused', async (t) => {
  for (const [name, file] of [
    ...Object.keys(FIXTURES).map((name) => [name, fixture(name)] as const),
    ['gif', gif(12, 9)] as const,
    ['png', png(9, 9)] as const,
  ]) {
    t.ok(await inspect(bytesOf(file)))
    const taken: number[] = []
    for (let length = 0; length < file.length; length++) {
      const error = await inspect(bytesOf(file.subarray(0, length))).then(
        () => null,
        (error) => error,
      )
      if (error === null) taken.push(length)
      else if (error.code !== 'media_refused') throw error
    }
    // A video that is cut off between two of its parts is a valid, shorter video.
    if (/mp4|webm/.test(name)) t.ok(taken.length < 4, `${name}: ${taken}`)
    else t.same(taken, [], name)
  }
})

t.test('whatever bytes come, they are taken or refused, never a fault', async (t) => {
  let state = 7
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state / 2 ** 32
  }
  for (const name of Object.keys(FIXTURES)) {
    for (let round = 0; round < 300; round++) {
      const file = Buffer.from(fixture(name))
      for (let change = 0; change < 1 + random() * 8; change++) {
        file[Math.floor(random() * file.length)] = random() < 0.3 ? 255 : Math.floor(random() * 256)
      }
      await inspect(bytesOf(file)).catch((error) => {
        if (error.code !== 'media_refused') t.fail(`${name}: ${error.stack}`)
      })
    }
  }
})

t.test('only the owner adds and removes, and the body is not read before that is known', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const player = await platform.signUp()
  const game = await platform.game(player, { visibility: 'private' })
  const url = `/api/games/${game.id}/media`
  const other = await platform.signUp()
  t.equal((await sendFile(await platform.program(other), url, png(4, 4))).status, 404)
  t.equal((await sendFile(platform.stranger, url, png(4, 4))).status, 401)
  t.equal((await sendFile(await platform.program(player, ['games:read']), url, png(4, 4))).status, 403)
  t.equal((await sendFile(player, url, png(4, 4), 'a.png', { headers: { origin: 'http://x.localhost' } })).status, 403)
  const program = await platform.program(player)
  t.equal((await program.post(url, { file: 'text' })).status, 400)
  t.equal(
    (await sendFile(program, url, png(4, 4), 'a.png', { headers: { 'content-length': '200000000' } })).status,
    413,
  )

  const { body: item } = await sendFile(player, url, png(4, 4))
  const path = new URL(item.url).pathname
  t.match(await player.get(path), { status: 200, headers: { 'cache-control': 'private, no-cache' } })
  t.equal((await platform.stranger.get(path)).status, 404, 'a private game shows nothing')
  t.equal((await other.get(path)).status, 404)
  const removing = `${url}/${item.id}`
  t.equal((await (await platform.program(other)).delete(removing)).status, 404)
  t.equal((await program.delete(removing)).status, 204)
  t.equal((await program.delete(removing)).status, 404)
  t.equal((await player.get(path)).status, 404)
  t.same(await blobs(platform), [])

  await breakUpload(platform, program.token ?? '', url)
  await until(() => temporary(platform).length === 0)
  t.same(await blobs(platform), [])
  t.same((await program.get(`/api/games/${game.id}`)).body.media, [])
})

/** Begins an upload over a socket and closes it halfway. Resolves when the server has noticed it. */
async function breakUpload({ app, portal }: Platform, token: string, path: string): Promise<void> {
  const { host, port } = new URL(portal)
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'multipart/form-data; boundary=x',
    'content-length': 100_000,
  }
  const upload = request({ host: '127.0.0.1', port, path, method: 'POST', headers: { ...headers, host } })
  upload.on('error', () => {})
  const begun = once(app.server, 'request')
  const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n'
  upload.write(Buffer.concat([Buffer.from(head), png(4, 4)]))
  const [incoming] = (await begun) as [IncomingMessage]
  const closed = new Promise((resolve) => incoming.once('close', resolve))
  await until(() => incoming.socket.bytesRead > head.length + png(4, 4).length)
  upload.destroy()
  await closed
}

t.test('the cover is chosen, a game has twelve at the most, and uploads at once are all kept', async (t) => {
  const platform = await startPlatform(t, { config: { limits: { uploadsPerPlayer: 14 } } })
  const player: PlayerClient = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  const url = `/api/games/${game.id}/media`
  const answers = await Promise.all(Array.from({ length: 14 }, (_, index) => sendFile(program, url, png(index + 1, 2))))
  t.equal(answers.filter(({ status }) => status === 201).length, 12)
  t.equal(answers.filter(({ body }) => body.error?.code === 'too_many_media').length, 2)
  t.equal((await blobs(platform)).length, 12)
  const { media } = (await program.get(`/api/games/${game.id}`)).body
  t.equal(media.length, 12)

  const change = (coverMediaId: string | null) => program.patch(`/api/games/${game.id}`, { coverMediaId })
  t.match(await change(media[3].id), { status: 200, body: { coverUrl: media[3].url } })
  t.equal((await change('med_00000000000000000000000000')).status, 400)
  t.equal((await program.delete(`${url}/${media[3].id}`)).status, 204)
  t.match(await program.get(`/api/games/${game.id}`), { body: { coverUrl: media[0].url } })
  t.match((await platform.stranger.get('/api/catalog/games')).body.games[0], { coverUrl: media[0].url })
  const clip = (await sendFile(program, url, fixture('clip.webm'))).body
  t.equal((await change(clip.id)).status, 400, 'a video is no cover')

  const form = await sendFile(player, '/games/pong/settings/media', png(3, 3))
  t.equal(form.status, 409, 'the form says the same')
  t.match(await player.submit('/games/pong/settings/media/remove', { media: clip.id }), { status: 303 })
  t.match(await player.submit('/games/pong/settings/media/cover', { media: media[5].id }), { status: 303 })
  t.match(await program.get(`/api/games/${game.id}`), { body: { coverUrl: media[5].url } })
  t.match(await sendFile(player, '/games/pong/settings/media', png(3, 3)), {
    status: 303,
    headers: { location: /^\/games\/pong\/settings\?saved#media$/ },
  })
})

t.test('what no game shows is swept up a day later', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const [game, other] = [await platform.game(player), await platform.game(player)]
  await sendFile(player, `/api/games/${game.id}/media`, png(4, 4))
  const [kept] = await blobs(platform)
  await sendFile(player, `/api/games/${other.id}/media`, png(5, 5))
  // This is the state after a crash between storing the file and updating the row.
  await platform.app.db.execute('update games set media = ? where id = ?', ['[]', other.id])
  const { signal } = new AbortController()
  await platform.app.games.media.sweep(signal)
  t.equal((await blobs(platform)).length, 2, 'it may be an upload under way')
  platform.clock.advance(400 * 86_400_000)
  await platform.app.games.media.sweep(signal)
  t.same(await blobs(platform), [kept])
})

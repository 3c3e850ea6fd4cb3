import { deflateSync } from 'node:zlib'
import jpeg from 'jpeg-js'
import { PNG } from 'pngjs'
import t from 'tap'
import { jpegOfScans, pngOfChunks } from '../../kit/hostile-images.ts'
import type { PlayerClient } from '../../kit/platform.ts'
import { startPlatform } from '../../kit/platform.ts'

const only = ['oauth-idp', 'tokens']

t.test('everyone has a picture: one that is drawn, at an address that stays', async (t) => {
  const platform = await startPlatform(t, { only })
  const [ada, bob] = [await platform.signUp(), await platform.signUp()]
  const { imageUrl } = (await ada.get('/api/auth/session')).body.user
  t.equal(imageUrl, `${platform.portal}/avatars/${ada.id}`)
  const picture = await platform.stranger.get(`/avatars/${ada.id}`)
  t.match(picture, { status: 200, headers: { 'content-type': 'image/svg+xml', 'x-content-type-options': 'nosniff' } })
  t.match(picture.headers['cross-origin-resource-policy'], 'cross-origin', 'games show it')
  t.match(picture.headers['content-security-policy'], "default-src 'none'; sandbox")
  t.match(picture.text, /^<svg /)
  t.not(picture.text, (await platform.stranger.get(`/avatars/${bob.id}`)).text)
  t.notMatch(picture.text, ada.id)
  const again = await platform.stranger.get(`/avatars/${ada.id}`, {
    headers: { 'if-none-match': picture.headers.etag },
  })
  t.match(again, { status: 304, text: '' })
  t.equal((await platform.stranger.get('/avatars/ply_00000000000000000000000000')).status, 200, 'gone players, too')
  t.equal((await platform.stranger.get('/avatars/../../etc/passwd')).status, 404)
  t.equal((await platform.stranger.get('/avatars/someone')).status, 400)
})

t.test('an uploaded picture is decoded, cut and encoded anew', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const photo = jpeg.encode({ width: 640, height: 320, data: halves(640, 320) }, 90).data
  // Cameras write such data beside the picture, and an attacker could hide data in it.
  const secret = Buffer.from('\xff\xe1\x00\x20Exif GPS 48.2082N 16.3738E....', 'latin1')
  const withPlace = Buffer.concat([photo.subarray(0, 2), secret, photo.subarray(2), Buffer.from('<script>')])
  t.equal((await upload(player, withPlace)).status, 303)
  const { imageUrl } = (await player.get('/api/auth/session')).body.user
  t.match(imageUrl, new RegExp(`/avatars/${player.id}\\?v=[0-9a-f]{12}$`))
  const path = imageUrl.slice(platform.portal.length)
  const { headers, rawPayload } = await platform.app.inject({ url: path, headers: { host: 'localhost:8080' } })
  t.match(headers, { 'content-type': 'image/jpeg', 'x-content-type-options': 'nosniff', 'cache-control': /immutable/ })
  t.notMatch(rawPayload.toString('latin1'), /GPS|script/)
  const { width, height, data } = jpeg.decode(rawPayload)
  t.same([width, height], [256, 256])
  t.ok((data[0] as number) > 200 && (data[2] as number) < 60, 'red at the left')
  t.ok((data[255 * 4] as number) < 60 && (data[255 * 4 + 2] as number) > 200, 'blue at the right')
  t.match((await player.get('/settings')).text, `src="/avatars/${player.id}?v=`, 'at once')
  const stale = await platform.stranger.get(path.replace(/v=.*/, 'v=000000000000'))
  t.match(stale.headers['cache-control'], 'public, max-age=300', 'another version is not kept for ever')

  const png = new PNG({ width: 300, height: 300 })
  png.data.set(halves(300, 300, 0))
  t.equal((await upload(player, PNG.sync.write(png))).status, 303)
  const second = await platform.stranger.get(`/avatars/${player.id}`)
  t.equal(second.headers['content-type'], 'image/png', 'what is transparent stays so')
  const keys: string[] = []
  for await (const { key } of platform.app.storage.list('avatars/')) keys.push(key)
  t.equal(keys.length, 1, 'the old one is gone')

  t.equal((await player.submit('/settings/picture/remove', {})).status, 303)
  t.match((await platform.stranger.get(`/avatars/${player.id}`)).headers, { 'content-type': 'image/svg+xml' })
})

t.test('the picture of an account that is deleted meanwhile is not left behind', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app } = platform
  const player = await platform.signUp()
  const picture = jpeg.encode({ width: 64, height: 64, data: halves(64, 64) }, 90).data
  await app.identity.deletion.remove(player.id)
  await t.rejects(app.identity.avatars.set(player.id, picture), { code: 'not_found' })
  const keys: string[] = []
  for await (const { key } of app.storage.list('avatars/')) keys.push(key)
  t.same(keys, [])
})

t.test('what is no picture is refused in words', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const refusals: [string, Buffer, RegExp][] = [
    ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'), /PNG or JPEG/],
    ['a page', Buffer.from('<!doctype html><script>alert(1)</script>'), /PNG or JPEG/],
    ['nothing', Buffer.alloc(0), /Choose a picture/],
    ['half a JPEG', jpeg.encode({ width: 64, height: 64, data: halves(64, 64) }, 90).data.subarray(0, 300), /./],
    ['a PNG of only a head', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), /damaged/],
    ['a huge PNG', pngOf(20_000, 20_000, 0), /at most 2048/],
    ['an interlaced bomb', pngOf(2000, 2000, 1), /damaged/],
    ['a thousand scans', jpegOfScans(2048, 1000), /more than 64 scans/],
    [
      'a thousand chunks',
      pngOfChunks(PNG.sync.write(new PNG({ width: 16, height: 16 })), 1100),
      /more than 100\d chunks/,
    ],
    ['a speck', PNG.sync.write(new PNG({ width: 4, height: 4 })), /at least 16/],
    [
      'too many bytes',
      Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.alloc(3 * 1024 * 1024)]),
      /at most 3 MiB/,
    ],
  ]
  for (const [what, bytes, words] of refusals) {
    const answer = await upload(player, bytes)
    t.match(answer, { status: 400, text: words }, what)
    t.match(answer.text, /field-error/, `${what}: said beside the field`)
  }
  t.equal((await player.submit('/settings/picture', { picture: 'x' })).status, 400, 'a form without a file')
  t.match((await player.get('/api/auth/session')).body.user.imageUrl, /\/avatars\/ply_\w+$/)
})

t.test('a picture is decoded outside of the event loop', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const main = process.threadCpuUsage()
  const whole = process.cpuUsage()
  // All that is allowed: a decoder passes 64 times over 2048 × 2048 pixels.
  t.equal((await upload(player, jpegOfScans(2048, 64))).status, 303)
  const [used, usedByAll] = [process.threadCpuUsage(main), process.cpuUsage(whole)]
  t.ok((used.user + used.system) * 2 < usedByAll.user + usedByAll.system, `${used.user} of ${usedByAll.user} µs`)
})

t.test('pictures are counted: decoding is work', async (t) => {
  const platform = await startPlatform(t, { only, config: { limits: { rateLimits: true } } })
  const player = await platform.signUp()
  for (let count = 0; count < 10; count++) await upload(player, Buffer.from('GIF89a'))
  t.match(await upload(player, Buffer.from('GIF89a')), { status: 429 })
})

function upload(player: PlayerClient, bytes: Buffer) {
  const body = Buffer.concat([
    Buffer.from(
      '--line\r\nContent-Disposition: form-data; name="picture"; filename="me.jpg"\r\nContent-Type: image/jpeg\r\n\r\n',
    ),
    bytes,
    Buffer.from('\r\n--line--\r\n'),
  ])
  return player.post('/settings/picture', body, { headers: { 'content-type': 'multipart/form-data; boundary=line' } })
}

/** Returns a picture that is red on the left and blue on the right. */
function halves(width: number, height: number, alpha = 255): Buffer {
  const data = Buffer.alloc(width * height * 4)
  for (let at = 0; at < data.length; at += 4) {
    const left = (at / 4) % width < width / 2
    data.set(left ? [255, 0, 0, 255] : [0, 0, 255, alpha], at)
  }
  return data
}

/** Returns a PNG that declares a size and contains compressed zeros. */
function pngOf(width: number, height: number, interlace: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 6, 0, 0, interlace], 8)
  const chunk = (type: string, data: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(data.length)
    return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)])
  }
  const pixels = deflateSync(Buffer.alloc(1_000_000))
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', header), chunk('IDAT', pixels)])
}

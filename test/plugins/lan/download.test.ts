import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'

const NAME = process.platform === 'win32' ? 'gameyard.exe' : 'gameyard'

t.test('a single program gives itself away, with its checksum, in ranges', async (t) => {
  const bytes = randomBytes(300_000)
  const path = join(t.testdir(), 'program')
  writeFileSync(path, bytes)
  const { app, stranger } = await startPlatform(t, { program: { path, version: '1.2.3' } })
  const sha256 = createHash('sha256').update(bytes).digest('hex')

  const whole = await app.inject({ url: `/download/${NAME}`, headers: { host: 'localhost:8080' } })
  t.equal(whole.statusCode, 200)
  t.ok(whole.rawPayload.equals(bytes))
  t.match(whole.headers, { 'content-disposition': `attachment; filename="${NAME}"`, etag: `"${sha256}"` })
  const part = await app.inject({
    url: `/download/${NAME}`,
    headers: { host: 'localhost:8080', range: 'bytes=100-199' },
  })
  t.equal(part.statusCode, 206, 'a download that was cut off goes on')
  t.ok(part.rawPayload.equals(bytes.subarray(100, 200)))
  const known = await stranger.get(`/download/${NAME}`, { headers: { 'if-none-match': `"${sha256}"` } })
  t.equal(known.status, 304)
  t.equal((await stranger.request('HEAD', `/download/${NAME}`)).headers['content-length'], '300000')
  t.equal((await stranger.get('/download/gameyard.sha256')).text, `${sha256}  ${NAME}\n`)
  const { text } = await stranger.get('/download')
  for (const shown of [sha256, '1.2.3', `/download/${NAME}`, 'deploy game --create']) t.ok(text.includes(shown), shown)
})

t.test('run from source the page says so, and there is no file', async (t) => {
  const { stranger } = await startPlatform(t)
  t.match((await stranger.get('/download')).text, /runs from its source code/)
  for (const name of ['gameyard', 'gameyard.exe', 'gameyard.sha256']) {
    t.equal((await stranger.get(`/download/${name}`)).status, 404, name)
  }
})

import t from 'tap'
import { GarbageCollector } from '../../../plugins/deploy/blobs/garbage-collector.ts'
import { startPlatform } from '../../kit/platform.ts'
import { startSwift, swiftMissing } from '../../kit/swift.ts'
import { type Build, build, filesOf, liveBuild, type Upload } from './build.ts'

const missing = swiftMissing()
const options = missing && process.env.CI !== 'true' ? { skip: missing } : {}

t.test('deploys whose files go straight to an S3 server that checks signatures', options, async (t) => {
  if (missing) throw new Error(missing)
  const swift = await startSwift()
  t.teardown(() => swift.stop())
  await swift.createBucket('deploys')
  const { endpoint, region, accessKeyId, secretAccessKey } = swift
  const platform = await startPlatform(t, {
    config: {
      storage: {
        driver: 's3',
        endpoint,
        region,
        bucket: 'deploys',
        accessKeyId,
        secretAccessKey,
        forcePathStyle: true,
      },
    },
  })
  const { app, clock } = platform
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const start = async (files: Build) => {
    const { status, body } = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files) })
    t.equal(status, 200)
    return body as { deployId: string; uploads: Upload[]; unchanged: number }
  }
  const put = async ({ uploadUrl, headers }: Upload, bytes: string | Buffer) => {
    const answer = await fetch(uploadUrl, { method: 'PUT', headers, body: new Uint8Array(Buffer.from(bytes)) })
    await answer.arrayBuffer()
    return answer.status
  }
  const finalize = (deployId: string) => program.post(`/api/deploy/${deployId}/finalize`)
  const keys = async (prefix: string) => (await Array.fromAsync(app.storage.list(prefix))).length

  const one: Build = { ...build('one', 12), 'main.js': 'play();'.repeat(900) }
  const first = await start(one)
  t.ok(
    first.uploads.every(({ uploadUrl }) => uploadUrl.startsWith(endpoint)),
    'the bytes do not pass through the platform',
  )

  await t.test('a request is good for its bytes only', async (t) => {
    const [wanted, other] = first.uploads as [Upload, Upload]
    const url = new URL(wanted.uploadUrl)
    t.ok((await put({ ...wanted, uploadUrl: url.href.replace(/Signature=.{6}/, 'Signature=000000') }, 'x')) >= 400)
    t.ok(
      (await put({ ...wanted, uploadUrl: url.href.replace(/X-Amz-Expires=\d+/, 'X-Amz-Expires=99999') }, 'x')) >= 400,
    )
    t.ok((await put({ ...wanted, uploadUrl: url.origin + new URL(other.uploadUrl).pathname + url.search }, 'x')) >= 400)
    t.ok((await put(wanted, `${one[wanted.path]}longer`)) >= 400, 'another size')
    await put(wanted, String(one[wanted.path]).replace(/./, '?'))
    const refused = await finalize(first.deployId)
    t.match(refused, { status: 409, body: { error: { code: 'incomplete_deploy' } } })
    t.equal(refused.body.error.details.length, 13)
    t.equal(await keys('blobs/'), 0)
  })

  await t.test('finalize takes the bytes over and leaves none behind', async (t) => {
    for (const wanted of first.uploads) t.equal(await put(wanted, one[wanted.path] as string), 200)
    const compressed = new Promise<void>((resolve) => app.events.on('deploy.compressed', () => resolve()))
    const answers = await Promise.all([finalize(first.deployId), finalize(first.deployId)])
    for (const { status, text } of answers) t.equal(status, 200, text)
    t.same(await liveBuild(platform, game.id), one)
    t.equal(await keys('uploads/'), 0)
    await compressed
    t.equal((await app.deploys.manifest(first.deployId))?.get('main.js')?.encodings.length, 2)
    t.equal(await keys('blobs/'), 15)
  })

  await t.test('the next deploy sends what is new, and what is abandoned is collected', async (t) => {
    clock.advance(1000)
    const two = { ...one, 'index.html': 'two' }
    const second = await start(two)
    t.same(
      second.uploads.map(({ path }) => path),
      ['index.html'],
    )
    t.equal(await put(second.uploads[0] as Upload, 'two'), 200)
    t.equal((await finalize(second.deployId)).status, 200)
    t.same(await liveBuild(platform, game.id), two)

    const abandoned = await app.deploys.start(player.id, { gameId: game.id, files: filesOf(build('abandoned')) })
    for (const wanted of abandoned.uploads) await put(wanted as Upload, build('abandoned')[wanted.path] as string)
    clock.advance(26 * 3_600_000)
    await new GarbageCollector(app).run(new AbortController().signal)
    t.equal(await keys('blobs/'), 16)
    t.same(await liveBuild(platform, game.id), two)
  })

  await t.test('a secret is found in what did not pass through the platform', async (t) => {
    const files: Build = { 'index.html': 'three', 'game.json': `{\n"secret":"${game.oauth.clientSecret}"}` }
    const third = await start(files)
    for (const wanted of third.uploads) t.equal(await put(wanted, files[wanted.path] as string), 200)
    const message = 'line 2 holds a client secret'
    const error = { code: 'live_secret', details: [{ path: 'game.json', message }] }
    t.match(await finalize(third.deployId), { status: 400, body: { error } })
    t.match(await finalize(third.deployId), { status: 400, body: { error } }, 'also the second time')
  })
})

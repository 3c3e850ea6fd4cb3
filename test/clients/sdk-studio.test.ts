// Tests the SDK's assets, generation and Blender jobs against a live server.
import { expectTypeOf } from 'expect-type'
import t, { type Test } from 'tap'
import {
  ApiError,
  type Asset,
  type BlenderJob,
  BlenderJobError,
  createClient,
  dataUrl,
  InsufficientCreditsError,
  NotFoundError,
} from '../../clients/sdk/index.ts'
import { aiConfig, openai, PNG, startAiServer } from '../kit/ai-server.ts'
import { hasPrograms } from '../kit/components.ts'
import { inFull } from '../kit/extent.ts'
import { type PlatformOptions, startPlatform } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { sheet } from '../plugins/assets/models.ts'

async function openPlatform(t: Test, config: PlatformOptions['config'] = {}) {
  const platform = await startPlatform(t, { listen: true, config: { blender: { driver: 'subprocess' }, ...config } })
  const owner = await platform.signUp({ name: 'Ada' })
  const { token } = await platform.program(owner)
  const client = createClient({ baseUrl: platform.portal, token: token as string })
  return { platform, client, stranger: createClient({ baseUrl: platform.portal }) }
}

t.test('assets: uploaded, listed, read, linked to, taken away', async (t) => {
  const { client, stranger } = await openPlatform(t)
  const file = new Blob([new Uint8Array(await sheet(6))])
  const sheetOf = (title: string, visibility: 'public' | 'private') =>
    client.uploadAsset({ file, fileName: 'sheet.glb', title, visibility, tags: ['test', 'sheet'], license: 'CC0-1.0' })
  const asset = await sheetOf('Wavy sheet', 'public')
  t.match(asset, { id: /^ast_/, slug: 'wavy-sheet', kind: 'model', tags: ['test', 'sheet'], license: 'CC0-1.0' })
  const secret = await sheetOf('Secret sheet', 'private')

  t.match(await stranger.getAsset('wavy-sheet'), { id: asset.id })
  t.same(
    (await stranger.listAssets().toArray()).map(({ slug }) => slug),
    ['wavy-sheet'],
  )
  t.equal((await client.listAssets({ owner: 'me', limit: 1 }).toArray()).length, 2, 'page by page')
  t.equal((await stranger.listAssets({ kind: 'image' }).toArray()).length, 0)
  t.match(await stranger.getAssetManifest(asset.id), { id: asset.id, variants: { source: { url: /\/file/ } } })
  const url = stranger.assetUrl('wavy-sheet', { variant: 'source' })
  t.match(url, /\/api\/assets\/wavy-sheet\/file\?variant=source$/)
  const linked = await fetch(url)
  t.match(linked.headers.get('x-service-variant'), 'source')
  t.equal((await linked.arrayBuffer()).byteLength, file.size)
  const streamed = await client.getAssetFile(secret.id)
  t.equal((await streamed.arrayBuffer()).byteLength, file.size, 'a private one, for its owner')
  await t.rejects(stranger.getAsset(secret.id), NotFoundError)
  t.equal(
    stranger.animationUrl('knight', 'Walking A', { from: 'moves' }),
    `${new URL(url).origin}/api/assets/knight/animation/Walking%20A?from=moves`,
  )
  await t.rejects(client.animateAsset(asset.id, { preset: 'walk' }), { code: 'not_rigged' })
  await t.rejects(client.animateAsset(asset.id, { from: secret.id, clip: 'Walking' }), { code: 'not_rigged' })
  await t.rejects(client.removeAssetClip(asset.id, { from: secret.id, clip: 'Walking' }), NotFoundError)
  const broken = client.uploadAsset({ file: new Blob(['no model']), fileName: 'x.glb', title: 'x' })
  await t.rejects(broken, ApiError)
  await client.deleteAsset(asset.id)
  await t.rejects(stranger.getAsset(asset.id), NotFoundError)
})

t.test('generation: text, an object typed by its schema, a picture, and what it costs', async (t) => {
  const server = await startAiServer(t)
  const { client } = await openPlatform(t, { ai: aiConfig(server) })
  t.match(await client.credits(), { balance: 100, ledger: [{ kind: 'signup' }] })
  server.answer = openai('Hello, player!')
  t.match(await client.generateText({ prompt: 'Greet.', system: 'Kindly.' }), {
    result: 'Hello, player!',
    creditsUsed: 1,
  })
  server.answer = openai('{"name":"Grub","gold":7}')
  const goblin = await client.generateObject({
    prompt: 'A goblin',
    schema: {
      type: 'object',
      properties: { name: { type: 'string' }, gold: { type: 'integer' } },
      required: ['name', 'gold'],
      additionalProperties: false,
    },
  })
  expectTypeOf(goblin.result).toEqualTypeOf<{ name: string; gold: number }>()
  t.equal(goblin.result.gold.toFixed(1), '7.0')
  server.answer = openai('')
  const image = await client.generateImage({ prompt: 'A chest', imageSize: '2K' })
  t.equal(dataUrl(image.result), `data:image/png;base64,${PNG.toString('base64')}`)
  let costs: unknown
  for (let count = 0; count < 6 && !costs; count++) {
    costs = await client.generateImage({ prompt: 'A chest', imageSize: '2K' }).then(
      () => null,
      (error) => error,
    )
  }
  t.type(costs, InsufficientCreditsError)
  t.match(costs, { status: 402, required: 20, balance: 18 })
})

inFull(t)?.test(
  'Blender jobs: submitted, waited for, built upon, failed and cancelled',
  { timeout: timeLimit(240) },
  async (t) => {
    if (!hasPrograms(t, 'blender', 'bwrap')) return
    const { client } = await openPlatform(t)
    t.match(await client.blender.health(), { executor: 'subprocess', capacity: 1 })
    t.ok((await client.blender.capabilities()).actions.includes('create'))
    t.ok((await client.blender.templates()).some(({ id }) => id === 'prop'))
    t.ok((await client.blender.starters()).length > 0)

    const job = await client.blender.submit({ name: 'A chest', template: 'prop', parameters: { kind: 'chest' } })
    const seen: string[] = []
    const done = await client.blender.waitFor(job.id, { intervalMs: 50, onProgress: ({ status }) => seen.push(status) })
    t.equal(done.status, 'completed')
    t.equal(seen.at(-1), 'completed')
    t.ok((await client.blender.artifacts(job.id)).some(({ name }) => name === 'model.glb'))
    const glb = Buffer.from(await (await client.blender.artifact(job.id, 'model.glb')).arrayBuffer())
    t.equal(glb.toString('latin1', 0, 4), 'glTF')

    const inspected = await client.blender.act(job.id, { action: 'inspect' })
    t.match(await client.blender.waitFor(inspected.id, { intervalMs: 50 }), { action: 'inspect', sourceJobId: job.id })
    const broken = await client.blender.submit({ name: 'Broken', template: 'prop', script: 'raise Exception("no")' })
    const failure = await client.blender.waitFor(broken.id, { intervalMs: 50 }).catch((error) => error)
    t.type(failure, BlenderJobError)
    t.match(failure, { code: 'script_error', job: { status: 'failed' } })
    const slow = await client.blender.submit({
      name: 'Slow',
      template: 'prop',
      script: 'import time\ntime.sleep(3600)',
    })
    const stop = new AbortController()
    const waiting = client.blender.waitFor(slow.id, { signal: stop.signal })
    stop.abort(new Error('enough'))
    await t.rejects(waiting, { message: 'enough' })
    const late = client.blender.waitFor(slow.id, { intervalMs: 20, timeoutMs: 100 })
    await t.rejects(late, { name: 'ConnectionError', code: 'timeout' })
    await client.blender.cancel(slow.id)
    const cancelled = await client.blender.waitFor(slow.id, { intervalMs: 50 }).catch((error) => error)
    t.match(cancelled, { code: 'cancelled', job: { status: 'cancelled' } })
    t.equal((await client.blender.list({ limit: 2 }).toArray()).length, 4)
  },
)

t.test('types follow the description', async (t) => {
  expectTypeOf<Asset['kind']>().toEqualTypeOf<'model' | 'pack' | 'image' | 'audio' | 'animation'>()
  expectTypeOf<Asset['license']>().toEqualTypeOf<string | null>()
  expectTypeOf<BlenderJob['status']>().toEqualTypeOf<'queued' | 'running' | 'completed' | 'failed' | 'cancelled'>()
  const { blender, listAssets } = createClient({ baseUrl: 'http://localhost:8080' })
  // @ts-expect-error there is no such action
  const act = () => blender.act('x', { action: 'paint' })
  // @ts-expect-error there is no such kind
  const list = () => listAssets({ kind: 'spell' })
  t.type(act, 'function')
  t.type(list, 'function')
})

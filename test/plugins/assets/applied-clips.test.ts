// Tests clips of one asset on the rig of another: a library without a skin, on figures of other conventions and rest
// poses.
import { type Document, NodeIO } from '@gltf-transform/core'
import { validateBytes } from 'gltf-validator'
import t, { type Test } from 'tap'
import { ALL } from '../../kit/extent.ts'
import { blenderModels } from './blender.ts'
import { form, startAssets, untilPrepared } from './kit.ts'
import { libraryOf, sheet } from './models.ts'

const io = new NodeIO()

/** Poses a model at a frame of its clip, as a viewer does. @returns the positions of its joints by name */
function jointsAt(document: Document, frame: number): Map<string, number[]> {
  for (const channel of document.getRoot().listAnimations()[0]?.listChannels() ?? []) {
    const value = channel
      .getSampler()
      ?.getOutput()
      ?.getElement(frame, [] as number[]) as never
    const node = channel.getTargetNode()
    if (channel.getTargetPath() === 'rotation') node?.setRotation(value)
    else if (channel.getTargetPath() === 'translation') node?.setTranslation(value)
  }
  const joints = document.getRoot().listSkins()[0]?.listJoints() ?? []
  return new Map(joints.map((joint) => [joint.getName(), joint.getWorldTranslation()]))
}

const framesOf = (document: Document) =>
  document.getRoot().listAnimations()[0]?.listSamplers()[0]?.getInput()?.getCount() ?? 0

/** Returns the largest distance of a joint from its expected position, in metres of a figure of ordinary size. */
function farthest(made: Document, wanted: Document, size: number): number {
  let most = 0
  for (let frame = 0; frame < framesOf(wanted); frame += 3) {
    const [is, should] = [jointsAt(made, frame), jointsAt(wanted, frame)]
    for (const [name, place] of should) {
      const there = is.get(name) ?? [Number.NaN, 0, 0]
      most = Math.max(most, Math.hypot(...place.map((side, axis) => side - (there[axis] as number))) / size)
    }
  }
  return most
}

const json = (value: unknown) => {
  const body = Buffer.from(JSON.stringify(value))
  return {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
  }
}

/** Starts a platform with figures and a library of a walk and a dance. */
async function start(t: Test, names: readonly string[]) {
  const models = blenderModels(t, ['mixamo', ...names])
  if (!models) return null
  const started = await startAssets(t)
  const { ask, upload } = started
  for (const [title, bytes] of models) await upload(bytes, { title, visibility: 'public' })
  const walk = (await ask('/api/assets/mixamo/animation/walk')).body
  const library = await upload(await libraryOf(walk, { walk: 'Walking_A' }), { title: 'moves', visibility: 'public' })
  t.match(library.body, { kind: 'animation', rigged: false, animations: ['Walking_A'] })
  const apply = (asset: string, body: unknown, as: 'owner' | 'other' = 'owner') =>
    ask(`/api/assets/${asset}/animations`, { as, ...json(body) })
  return { ...started, models, apply, library: library.body as { id: string } }
}

t.test('a clip of a library moves every figure as its own would, whatever its bones are called', async (t) => {
  const figures = { unreal: 1, ...(ALL ? { vrm: 1, readyplayerme: 0.01, mixamo: 1 } : {}) }
  const started = await start(t, [...Object.keys(figures), ...(ALL ? ['handless'] : [])])
  if (!started) return
  const { ask, apply, library, platform, models } = started
  for (const [name, size] of Object.entries(figures)) {
    const made = await apply(name, { from: 'moves', clip: 'Walking_A' })
    t.equal(made.status, 201, made.body.toString())
    const url = `${platform.portal}/api/assets/${name}/animation/Walking_A?from=${library.id}`
    t.match(made.json(), { from: library.id, clip: 'Walking_A', url })
    const sent = await ask(`/api/assets/${name}/animation/Walking_A?from=moves`)
    t.match(sent, {
      status: 200,
      headers: {
        'content-type': 'model/gltf-binary',
        'cache-control': 'public, max-age=86400',
        'access-control-allow-origin': '*',
        'content-length': String((made.json() as { size: number }).size),
      },
    })
    const [own, found] = [
      (await validateBytes(models.get(name) as Buffer)).issues,
      (await validateBytes(sent.body)).issues,
    ]
    t.equal(found.numErrors, 0)
    t.equal(found.numWarnings, own.numWarnings, `${name}: the validator finds nothing that it did not find before`)
    const document = await io.readBinary(sent.body)
    const clips = document.getRoot().listAnimations()
    t.same(
      clips.map((clip) => clip.getName()),
      ['Walking_A'],
    )
    const wanted = await io.readBinary((await ask(`/api/assets/${name}/animation/walk`)).body)
    const off = farthest(document, wanted, size)
    t.ok(off < 0.005, `${name}: joints are where the same walk puts them, within ${off} m`)
    const again = await ask(`/api/assets/${name}/animation/Walking_A?from=${library.id}`, {
      headers: { 'if-none-match': String(sent.headers.etag) },
    })
    t.equal(again.status, 304)
  }
  if (ALL)
    t.equal((await apply('handless', { from: 'moves', clip: 'Walking_A' })).status, 201, 'a rig with fewer bones')
})

t.test('what was put on a model is in its manifest until it is taken off', async (t) => {
  const started = await start(t, ['unreal'])
  if (!started) return
  const { ask, apply, upload, library, platform } = started
  const [first, second] = await Promise.all([1, 2].map(() => apply('unreal', { from: library.id, clip: 'Walking_A' })))
  t.same(first?.json(), second?.json(), 'asked for twice at once, it is made once')
  const listed = async () => ((await ask('/api/assets/unreal/manifest')).json() as { clips: unknown[] }).clips
  t.match(await listed(), [
    { from: library.id, clip: 'Walking_A', size: Number, url: /animation\/Walking_A\?from=ast_/ },
  ])
  await ask('/api/assets/moves', { as: 'owner', method: 'DELETE' })
  t.equal((await ask(`/api/assets/unreal/animation/Walking_A?from=${library.id}`)).status, 200, 'it is the model’s own')
  const off = `/api/assets/unreal/animations?from=${library.id}&clip=Walking_A`
  t.equal((await ask(off, { as: 'other', method: 'DELETE' })).status, 404)
  t.equal((await ask(off, { as: 'owner', method: 'DELETE' })).status, 204)
  t.equal((await ask(off, { as: 'owner', method: 'DELETE' })).status, 404)
  t.same(await listed(), [])
  t.equal((await ask(`/api/assets/unreal/animation/Walking_A?from=${library.id}`)).status, 404)
  await upload(await libraryOf((await ask('/api/assets/mixamo/animation/run')).body), { title: 'runs' })
  t.equal((await apply('unreal', { from: 'runs', clip: 'run' })).status, 201)
  for (const name of ['unreal', 'runs']) {
    // A file that the preparation has just stored would go only when it notices that the model is gone.
    await untilPrepared(platform, (await platform.app.assets.get(name)).id)
    await ask(`/api/assets/${name}`, { as: 'owner', method: 'DELETE' })
  }
  const left: string[] = []
  for await (const { key } of platform.app.storage.list('assets/')) left.push(key.split('/')[1] as string)
  t.same([...new Set(left)], [(await platform.app.assets.get('mixamo')).id], 'nothing of the deleted ones stays')
})

t.test('a creature that is no humanoid takes the clips of its own bones', async (t) => {
  const models = blenderModels(t, ['snake'])
  if (!models) return
  const { ask, upload } = await startAssets(t)
  const snake = models.get('snake') as Buffer
  const made = await upload(snake, { title: 'snake', visibility: 'public' })
  t.match(made.body, { rigged: true, animations: ['Slither'] })
  const library = await libraryOf(snake, {})
  t.match((await upload(library, { title: 'slithering', visibility: 'public' })).body, { kind: 'animation' })
  const body = { from: 'slithering', clip: 'Slither' }
  const applied = await ask('/api/assets/snake/animations', { as: 'owner', ...json(body) })
  t.equal(applied.status, 201, applied.body.toString())
  const [is, should] = [
    await io.readBinary((await ask('/api/assets/snake/animation/Slither?from=slithering')).body),
    await io.readBinary(snake),
  ]
  const last = [framesOf(is) - 1, framesOf(should) - 1] as const
  for (const [name, place] of jointsAt(should, last[1])) {
    const there = jointsAt(is, last[0]).get(name) as number[]
    t.ok(Math.hypot(...place.map((side, axis) => side - (there[axis] as number))) < 1e-3, `${name} ends where it did`)
  }
})

t.test('what can’t be put on a model says so', async (t) => {
  const started = await start(t, ['snake'])
  if (!started) return
  const { apply, upload, ask, platform } = started
  await upload(await sheet(4), { title: 'Crate', visibility: 'public' })
  await upload(await libraryOf((await ask('/api/assets/mixamo/animation/wave')).body), { title: 'Mine' })
  const refusals: [asset: string, body: unknown, status: number, code: string, as?: 'other'][] = [
    ['mixamo', {}, 400, 'invalid_request'],
    ['mixamo', { from: 'moves' }, 400, 'invalid_request'],
    ['mixamo', { preset: 'walk', from: 'moves', clip: 'Walking_A' }, 400, 'invalid_request'],
    ['mixamo', { from: 'moves', clip: 'Walking_A', speed: 2 }, 400, 'invalid_request'],
    ['mixamo', { from: 'nothing', clip: 'Walking_A' }, 404, 'not_found'],
    ['mixamo', { from: 'moves', clip: 'Flying' }, 404, 'not_found'],
    ['mixamo', { from: 'crate', clip: 'Walking_A' }, 404, 'not_found'],
    ['crate', { from: 'moves', clip: 'Walking_A' }, 422, 'not_rigged'],
    ['moves', { from: 'moves', clip: 'Walking_A' }, 422, 'not_rigged'],
    ['snake', { from: 'moves', clip: 'Walking_A' }, 422, 'clip_does_not_fit'],
    ['mixamo', { from: 'moves', clip: 'Walking_A' }, 404, 'not_found', 'other'],
  ]
  for (const [asset, body, status, code, as] of refusals) {
    const answer = await apply(asset, body, as)
    t.match({ status: answer.status, body: answer.json() }, { status, body: { error: { code } } }, JSON.stringify(body))
  }
  t.match((await apply('mixamo', { from: 'moves', clip: 'Flying' })).json(), {
    error: { details: [{ path: 'clip', message: 'must be one of Walking_A' }] },
  })
  const stranger = await platform.signUp()
  const { token } = await platform.program(stranger)
  const { payload, headers } = form(started.models.get('mixamo') as Buffer, { title: 'Theirs', visibility: 'public' })
  const theirs = await ask('/api/assets', {
    method: 'POST',
    body: payload,
    headers: { ...headers, authorization: `Bearer ${token}`, 'content-length': String(payload.length) },
  })
  const { id } = theirs.json() as { id: string }
  const sent = json({ from: 'mine', clip: 'wave' })
  const asked = await ask(`/api/assets/${id}/animations`, {
    ...sent,
    headers: { ...sent.headers, authorization: `Bearer ${token}` },
  })
  t.equal(asked.status, 404, 'a private library is its owner’s alone')
})

t.test('a model has so many clips of others and no more', async (t) => {
  const models = blenderModels(t, ['mixamo', 'unreal'])
  if (!models) return
  const { ask, upload } = await startAssets(t, { config: { limits: { assetClips: 1 } } })
  for (const [title, bytes] of models) await upload(bytes, { title, visibility: 'public' })
  for (const preset of ['walk', 'run']) {
    const moving = (await ask(`/api/assets/mixamo/animation/${preset}`)).body
    await upload(await libraryOf(moving), { title: `moves ${preset}`, visibility: 'public' })
  }
  const apply = (preset: string) =>
    ask('/api/assets/unreal/animations', { as: 'owner', ...json({ from: `moves-${preset}`, clip: preset }) })
  t.equal((await apply('walk')).status, 201)
  t.match((await apply('run')).json(), { error: { code: 'too_many_clips' } })
  t.equal((await apply('walk')).status, 201, 'what is there is there')
})

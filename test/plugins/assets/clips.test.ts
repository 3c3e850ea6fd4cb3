// Tests clips on rigs that the real Blender created: with the names of five conventions, other rest poses and rolls,
// and fewer bones.
import { type Document, type mat4, type Node, NodeIO } from '@gltf-transform/core'
import t, { type Test } from 'tap'
import { readName } from '../../../plugins/assets/models/humanoid/bones.ts'
import { PRESETS } from '../../../plugins/assets/models/humanoid/presets.ts'
import { ALL } from '../../kit/extent.ts'
import { blenderModels } from './blender.ts'
import { startAssets, untilPrepared } from './kit.ts'
import { sheet } from './models.ts'

/** Each has another rest pose and roll. The short form uses the most common one. */
const RIGS = ALL ? ['mixamo', 'vrm', 'rigify', 'unreal', 'readyplayerme', 'handless', 'stubby'] : ['mixamo']
/** Rigs without hands and feet. In the second, each limb and the trunk is one bone. */
const FEW_BONES = ['handless', 'stubby']

t.test('a bone is known by its side and name', (t) => {
  for (const [name, side, base] of [
    ['mixamorig:LeftUpLeg', 'left', 'upleg'],
    ['mixamorig9RightForeArm', 'right', 'forearm'],
    ['J_Bip_L_UpperArm', 'left', 'upperarm'],
    ['thigh.L', 'left', 'thigh'],
    ['DEF-upper_arm.R', 'right', 'upperarm'],
    ['calf_r', 'right', 'calf'],
    ['leftUpperLeg', 'left', 'upperleg'],
    ['Spine1', null, 'spine1'],
    ['pelvis', null, 'pelvis'],
    ['UpperArmL', 'left', 'upperarm'],
    ['LowerLegR', 'right', 'lowerleg'],
  ] as const) {
    t.same(readName(name), { side, base }, name)
  }
  t.end()
})

/** Poses a model at a frame of its clip, as a viewer does. */
function showFrame(document: Document, frame: number): void {
  for (const channel of document.getRoot().listAnimations()[0]?.listChannels() ?? []) {
    const value: unknown = channel.getSampler()?.getOutput()?.getElement(frame, [])
    const node = channel.getTargetNode()
    if (channel.getTargetPath() === 'rotation') node?.setRotation(value as [number, number, number, number])
    else node?.setTranslation(value as [number, number, number])
  }
}

function times(a: mat4, b: mat4): number[] {
  return Array.from({ length: 16 }, (_, at) => {
    const [column, row] = [Math.floor(at / 4), at % 4]
    return [0, 1, 2, 3].reduce((sum, k) => sum + (a[k * 4 + row] as number) * (b[column * 4 + k] as number), 0)
  })
}

/** Returns the lowest and highest point of the skinned surface. */
function heights(document: Document): [number, number] {
  const [skin] = document.getRoot().listSkins()
  const mesh = document
    .getRoot()
    .listNodes()
    .find((node) => node.getSkin())
    ?.getMesh()
  const [primitive] = mesh?.listPrimitives() ?? []
  const inverse = skin?.getInverseBindMatrices()
  if (!skin || !primitive || !inverse) throw new Error('The model has no skin.')
  const matrices = skin
    .listJoints()
    .map((joint, at) => times(joint.getWorldMatrix(), inverse.getElement(at, []) as never))
  const element = (name: string, index: number) => primitive.getAttribute(name)?.getElement(index, []) as number[]
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let vertex = 0; vertex < (primitive.getAttribute('POSITION')?.getCount() ?? 0); vertex += 2) {
    const [x = 0, y = 0, z = 0] = element('POSITION', vertex)
    let height = 0
    for (const [slot, weight] of element('WEIGHTS_0', vertex).entries()) {
      const m = matrices[element('JOINTS_0', vertex)[slot] as number] as number[]
      height += weight * ((m[1] as number) * x + (m[5] as number) * y + (m[9] as number) * z + (m[13] as number))
    }
    low = Math.min(low, height)
    high = Math.max(high, height)
  }
  return [low, high]
}

/** Returns the distances between joints and their parents in world space. */
const boneLengths = (document: Document): number[] => {
  const joints = document.getRoot().listSkins()[0]?.listJoints() ?? []
  return joints.flatMap((joint) => {
    const parent = joint.getParentNode()
    if (!parent || !joints.includes(parent)) return []
    const [a, b] = [joint.getWorldTranslation(), parent.getWorldTranslation()]
    return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2])
  })
}

t.test('every preset moves every rig, keeps its bones as long as they were, and its feet on the ground', async (t) => {
  const models = blenderModels(t, RIGS)
  if (!models) return
  const { ask, upload, platform } = await startAssets(t)
  for (const [name, bytes] of models) {
    const { status, body } = await upload(bytes, { title: name, visibility: 'public' })
    t.match({ status, body }, { status: 201, body: { rigged: true, animations: [] } }, name)
    for (const preset of Object.keys(PRESETS)) {
      const answer = await ask(`/api/assets/${name}/animation/${preset}`)
      t.match(answer, {
        status: 200,
        headers: { 'cache-control': 'public, max-age=86400', 'access-control-allow-origin': '*' },
      })
      const document = await new NodeIO().readBinary(answer.body)
      t.same(
        document
          .getRoot()
          .listAnimations()
          .map((clip) => clip.getName()),
        [preset],
      )
      const size = name === 'readyplayerme' ? 0.01 : 1
      checkClip(t, document, { label: `${name} ${preset}`, preset, size, whole: !FEW_BONES.includes(name) })
    }
  }
  const first = await ask('/api/assets/mixamo/animation/walk')
  t.ok((await ask('/api/assets/mixamo/animation/walk')).body.equals(first.body), 'the same again')

  await t.test('clips of an earlier version of the program go', async (t) => {
    const { db, assets, storage } = platform.app
    const stored =
      "select c.preset, c.size, a.id from asset_clips c join assets a on a.id = c.asset_id where a.slug = 'mixamo'"
    const rows = async () => (await db.query<{ preset: string; size: number; id: string }>(stored)).toSorted(byPreset)
    const used = async () => {
      const [row] = await db.query<{ bytes: number }>(
        "select sum(bytes) as bytes from quota_stored_bytes where kind = 'assets'",
      )
      return Number(row?.bytes)
    }
    const blobs = async () => (await Array.fromAsync(storage.list(`assets/${before[0]?.id}/`))).length
    // What is prepared meanwhile takes storage too.
    for (const name of models.keys()) await untilPrepared(platform, (await assets.get(name)).id)
    const [before, bytes] = [await rows(), await used()]
    const files = await blobs()
    t.equal(before.length, Object.keys(PRESETS).length)
    const age = "update asset_clips set preset = replace(preset, '@2', '@1')"
    await db.execute(`${age} where preset = 'walk@2'`)
    t.equal((await ask('/api/assets/mixamo/animation/walk')).status, 200)
    t.same(await rows(), before, 'the new one takes its place')
    t.equal(await used(), bytes)

    await db.execute(age)
    const [all] = await db.query<{ bytes: number }>('select sum(size) as bytes from asset_clips')
    const { signal } = new AbortController()
    await assets.clips.sweep(signal)
    t.same(await rows(), [], 'those that nobody has requested since go too')
    t.equal(await used(), bytes - Number(all?.bytes))
    // Files have the time of this machine.
    platform.clock.advance(Date.now() - platform.clock.now().getTime() + 48 * 3_600_000)
    await assets.changes.sweep(signal)
    t.equal(await blobs(), files - before.length)
  })
})

const byPreset = (one: { preset: string }, other: { preset: string }) => (one.preset < other.preset ? -1 : 1)

/** Returns a point a hand's breadth along a bone, which shows the rotation of a bone without children. */
function endOf(node: Node): [number, number, number] {
  const m = node.getWorldMatrix()
  return [m[4] * 0.25 + m[12], m[5] * 0.25 + m[13], m[6] * 0.25 + m[14]]
}

function checkClip(
  t: Test,
  document: Document,
  { label, preset, size, whole }: { label: string; preset: string; size: number; whole: boolean },
) {
  const rest = boneLengths(document)
  const [ground] = heights(document)
  const frames = document.getRoot().listAnimations()[0]?.listSamplers()[0]?.getInput()?.getCount() ?? 0
  let farthest = 0
  let [deepest, lifted] = [0, 0]
  const before = new Map(
    document
      .getRoot()
      .listNodes()
      .map((node) => [node, endOf(node)]),
  )
  let moved = 0
  for (let frame = 0; frame < frames; frame += 4) {
    showFrame(document, frame)
    for (const [at, length] of boneLengths(document).entries()) {
      farthest = Math.max(farthest, Math.abs(length - (rest[at] as number)))
      if (Number.isNaN(length)) farthest = Number.NaN
    }
    const [low] = heights(document)
    deepest = Math.min(deepest, low - ground)
    lifted = Math.max(lifted, low - ground)
    for (const [node, place] of before) {
      const now = endOf(node)
      moved = Math.max(moved, Math.hypot(now[0] - place[0], now[1] - place[1], now[2] - place[2]))
    }
  }
  t.ok(farthest <= 1e-4 * size, `${label}: bones keep their lengths, within ${farthest}`)
  t.ok(moved > (whole ? 0.05 : 0.005) * size, `${label}: it moves, by ${moved}`)
  if (preset === 'idle' || preset === 'walk') {
    // The edge of a stiff sole passes slightly through the ground as the leg swings.
    const sole = (whole ? 0.02 : 0.04) * size
    t.ok(deepest > -sole && lifted < sole, `${label}: feet on the ground, ${deepest} to ${lifted}`)
  }
  t.ok(deepest > -0.12 * size, `${label}: nothing sinks into the ground, ${deepest}`)
}

t.test('what can’t be animated says so', async (t) => {
  const { ask, upload } = await startAssets(t)
  await upload(await sheet(4), { title: 'Crate', visibility: 'public' })
  await upload(await sheet(4), { title: 'Secret' })
  t.match((await ask('/api/assets/crate/animation/walk')).json(), { error: { code: 'not_rigged' } })
  t.equal((await ask('/api/assets/crate/animation/walk')).status, 422)
  t.equal((await ask('/api/assets/crate/animation/moonwalk')).status, 404)
  t.equal((await ask('/api/assets/crate/animation/__proto__')).status, 404)
  t.equal((await ask('/api/assets/secret/animation/walk')).status, 404)
  const body = Buffer.from(JSON.stringify({ preset: 'walk' }))
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) }
  t.equal((await ask('/api/assets/crate/animations', { as: 'owner', method: 'POST', body, headers })).status, 422)
  t.equal((await ask('/api/assets/crate/animations', { as: 'other', method: 'POST', body, headers })).status, 404)
})

t.test('a clip of a private model is its owner’s alone, and goes with it', async (t) => {
  const models = blenderModels(t, ['rigify'])
  if (!models) return
  const { ask, upload, platform } = await startAssets(t)
  const { body: asset } = await upload(models.get('rigify') as Buffer, { title: 'Hero' })
  const body = Buffer.from(JSON.stringify({ preset: 'wave' }))
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) }
  const made = await ask(`/api/assets/${asset.id}/animations`, { as: 'owner', method: 'POST', body, headers })
  t.match(made.json(), { preset: 'wave', url: `${platform.portal}/api/assets/hero/animation/wave` })
  t.equal((await ask('/api/assets/hero/animation/wave')).status, 404)
  t.match(await ask('/api/assets/hero/animation/wave', { as: 'owner' }), {
    status: 200,
    headers: { 'cache-control': 'private, no-store' },
  })
  // A file that the preparation has just stored would go only when it notices that the model is gone.
  await untilPrepared(platform, asset.id)
  await ask('/api/assets/hero', { as: 'owner', method: 'DELETE' })
  t.equal((await ask('/api/assets/hero/animation/wave', { as: 'owner' })).status, 404)
  const left: string[] = []
  for await (const { key } of platform.app.storage.list('assets/')) left.push(key)
  t.same(left, [], 'nothing of it stays')
})

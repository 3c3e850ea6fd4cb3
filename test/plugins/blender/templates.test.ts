// Tests templates on the real Blender: the output is valid, visible, and matches the inspection.
import { type Document, NodeIO, Primitive } from '@gltf-transform/core'
import { ALL_EXTENSIONS } from '@gltf-transform/extensions'
import { PNG } from 'pngjs'
import t, { type Test } from 'tap'
import { validate } from '../../../plugins/assets/models/validate.ts'
import { artifactOf, settled } from '../../kit/blender.ts'
import { hasPrograms } from '../../kit/components.ts'
import { startDocker } from '../../kit/docker.ts'
import { ALL } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'

/**
 * Each template needs a start of Blender and a rendering. The short form tests only the one with bones, which has the
 * most parts.
 */
const SOME = ['humanoid']

t.setTimeout(timeLimit(600))

t.test(ALL ? 'every template in bubblewrap' : 'a template in bubblewrap', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  await makeTemplates(t, { driver: 'subprocess', capacity: 2 })
})

if (ALL)
  t.test('every template in containers', async (t) => {
    if (!hasPrograms(t, 'dockerd', 'docker', 'blender')) return
    const { socketPath, image, readOnlyMounts } = await startDocker(t)
    await makeTemplates(t, { driver: 'docker', socketPath, image, readOnlyMounts, capacity: 2 })
  })

async function makeTemplates(t: Test, blender: object): Promise<void> {
  const platform = await startPlatform(t, { config: { blender } })
  const program = await platform.program(await platform.signUp())
  const { templates } = (await program.get('/api/blender/v1/templates')).body as { templates: Template[] }
  t.ok(templates.length >= 8)
  const chosen = ALL ? templates : templates.filter(({ id }) => SOME.includes(id))
  const begun = []
  for (const { id, recommendedStarters } of chosen) {
    const { status, body } = await program.post('/api/blender/v1/jobs', {
      name: id,
      template: id,
      starterAssets: recommendedStarters.slice(0, 1),
    })
    t.equal(status, 202, id)
    begun.push({ id, jobId: body.id })
  }
  for (const { id, jobId } of begun) {
    const job = await settled(program, jobId, 300)
    t.match(job, { status: 'completed', error: null, attempts: 1 }, id)
    const file = (name: string) => artifactOf(platform, program, jobId, name)
    const glb = await file('model.glb')
    await t.resolves(validate(glb), `${id}: the Khronos validator finds no error`)
    const { totals, animations, armatures, warnings } = JSON.parse(String(await file('inspection.json')))
    const found = countsOf(await new NodeIO().registerExtensions(ALL_EXTENSIONS).readBinary(glb))
    const { objects, meshes, triangles, materials, bones } = totals
    t.same(
      { objects, meshes, triangles, materials, joints: bones, skins: armatures.length, animations: animations.length },
      found,
      `${id}: what the inspection counts is what is in the file`,
    )
    t.same(warnings, [], `${id}: nothing to warn of`)
    const { shown, colours } = seenIn(PNG.sync.read(await file('preview.png')))
    t.ok(shown > 0.03 && shown < 0.97, `${id}: the model fills a part of its picture: ${Math.round(shown * 100)} %`)
    t.ok(colours > 50, `${id}: and is lit: ${colours} colours`)
  }
}

interface Template {
  id: string
  recommendedStarters: string[]
}

/** Returns the same counts as an inspection, computed from the file by another program. */
function countsOf(document: Document) {
  const root = document.getRoot()
  const trianglesOf = (primitive: Primitive) => {
    if (primitive.getMode() !== Primitive.Mode.TRIANGLES) return 0
    return (primitive.getIndices() ?? primitive.getAttribute('POSITION'))?.getCount() ?? 0
  }
  const shown = root.listNodes().filter((node) => node.getMesh())
  return {
    objects: shown.length,
    meshes: root.listMeshes().length,
    triangles: shown.reduce(
      (sum, node) =>
        sum + (node.getMesh()?.listPrimitives() ?? []).reduce((of, primitive) => of + trianglesOf(primitive) / 3, 0),
      0,
    ),
    materials: root.listMaterials().length,
    joints: new Set(root.listSkins().flatMap((skin) => skin.listJoints())).size,
    skins: root.listSkins().length,
    animations: root.listAnimations().length,
  }
}

/** Returns the opaque share of a picture and its number of colours. */
function seenIn({ data, width, height }: PNG): { shown: number; colours: number } {
  let opaque = 0
  const colours = new Set<number>()
  for (let at = 0; at < data.length; at += 4) {
    if ((data[at + 3] ?? 0) < 128) continue
    opaque++
    colours.add(data.readUInt32BE(at) >>> 8)
  }
  return { shown: opaque / (width * height), colours: colours.size }
}

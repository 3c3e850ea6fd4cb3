// Tests pictures of uploaded models, rendered by the real Blender.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { NodeIO } from '@gltf-transform/core'
import { ALL_EXTENSIONS } from '@gltf-transform/extensions'
import { meshopt } from '@gltf-transform/functions'
import { MeshoptEncoder } from 'meshoptimizer'
import { PNG } from 'pngjs'
import t from 'tap'
import { hasPrograms } from '../../kit/components.ts'
import { startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'
import { sheet } from '../assets/models.ts'

t.test('an uploaded model is shown by a rendered picture, and what Blender can’t read by the drawn one', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const platform = await startPlatform(t, { config: { blender: { driver: 'subprocess' } } })
  const { app } = platform
  const owner = (await platform.signUp()).id
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-thumbnails-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const put = (bytes: Uint8Array, title: string) => {
    const path = join(folder, title)
    writeFileSync(path, bytes)
    return app.assets.create(owner, { title }, { path, name: `${title}.glb` })
  }
  const picture = async (id: string) => {
    const { thumbnailSha256 } = await app.assets.get(id)
    return thumbnailSha256 && PNG.sync.read(await buffer(await app.assets.read(id, thumbnailSha256)))
  }
  const waiting = async () => {
    const rows = await app.db.query<{ count: number }>(
      "select count(*) as count from background_jobs where name in ('blender/thumbnail', 'assets/prepare') and state <> 'failed'",
    )
    return Number(rows[0]?.count)
  }
  // Blender's importer does not support this compression.
  await MeshoptEncoder.ready
  const io = new NodeIO().registerExtensions(ALL_EXTENSIONS).registerDependencies({ 'meshopt.encoder': MeshoptEncoder })
  const document = await io.readBinary(await sheet(6))
  await document.transform(meshopt({ encoder: MeshoptEncoder }))
  const foreign = await put(await io.writeBinary(document), 'foreign')
  const made = await put(await sheet(6), 'sheet')
  const rendered = await until(async () => {
    const found = await picture(made.id)
    return found && found.width === 512 && found.height === 512 ? found : null
  }, 180)
  const seen = { opaque: 0, orange: 0, clear: 0 }
  for (let at = 0; at < rendered.data.length; at += 4) {
    const [red = 0, , blue = 0, alpha = 0] = rendered.data.subarray(at, at + 4)
    if (alpha === 0) seen.clear++
    if (alpha === 255) seen.opaque++
    if (alpha === 255 && red > blue + 40) seen.orange++
  }
  t.ok(seen.opaque > 10_000 && seen.clear > 10_000, `the model on a clear ground: ${JSON.stringify(seen)}`)
  t.ok(seen.orange > seen.opaque / 2, 'in its own colour')
  await until(async () => (await waiting()) === 0, 120)
  t.match(await picture(foreign.id), { width: 512, height: 384 })
})

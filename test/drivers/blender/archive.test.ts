// Tests what an executor extracts from a run: it must not trust the archive, which hostile code may have written.
import { readdirSync, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import t from 'tap'
import tar, { type Header } from 'tar-stream'
import { RefusedArtifact, unpackArtifacts } from '../../../drivers/blender/archive.ts'

const names = ['model.glb', 'preview.png']

/** Unpacks an archive of these entries into a new folder. */
async function unpack(entries: (Partial<Header> & { name: string; content?: string })[], folder: string) {
  const pack = tar.pack()
  for (const { content = '', ...header } of entries) pack.entry({ mode: 0o644, ...header }, content)
  pack.finalize()
  return unpackArtifacts(Readable.from(pack), { names, artifactBytes: 1000, output: folder })
}

t.test(
  "a device, a pipe, a link or a folder under an artifact's name is refused, and so is all that came with it",
  async (t) => {
    const honest = { name: 'preview.png', content: 'a picture' }
    for (const type of [
      'character-device',
      'block-device',
      'fifo',
      'symlink',
      'link',
      'directory',
      'contiguous-file',
    ] as const) {
      const output = t.testdir()
      const odd = { name: 'model.glb', type, linkname: '/dev/zero', devmajor: 1, devminor: 5 }
      await t.rejects(unpack([honest, odd], output), new RefusedArtifact('model.glb', 'kind'), type)
      t.same(readdirSync(output), [], `${type}: nothing is kept`)
    }
  },
)

t.test(
  'a name that leads elsewhere is passed over, one that comes twice is refused, and so is one too large',
  async (t) => {
    const output = t.testdir()
    const hostile = ['../model.glb', '/model.glb', './model.glb', 'sub/model.glb', '..', 'model.glb\\..'].map(
      (name) => ({ name, content: 'x' }),
    )
    t.same(await unpack([...hostile, { name: 'model.glb', content: 'glTF' }], output), ['model.glb'])
    t.same(readdirSync(output), ['model.glb'])
    t.equal(readFileSync(`${output}/model.glb`, 'utf8'), 'glTF')
    const twice = { name: 'model.glb', content: 'x' }
    await t.rejects(unpack([twice, twice], t.testdir()), new RefusedArtifact('model.glb', 'kind'))
    await t.rejects(
      unpack([{ name: 'model.glb', content: 'x'.repeat(1001) }], t.testdir()),
      new RefusedArtifact('model.glb', 'size'),
    )
  },
)

t.test('an archive that is none, or cut off, gives nothing', async (t) => {
  const output = t.testdir()
  const pack = tar.pack()
  pack.entry({ name: 'model.glb' }, 'y'.repeat(900))
  pack.finalize()
  const whole = Buffer.concat(await Readable.from(pack).toArray())
  for (const bytes of [Buffer.from('no archive at all, but long enough'.repeat(40)), whole.subarray(0, 1000)]) {
    await t.rejects(unpackArtifacts(Readable.from([bytes]), { names, artifactBytes: 1000, output }))
    t.same(readdirSync(output), [])
  }
})

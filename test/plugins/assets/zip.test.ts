// Tests the archive of a pack, whose layout is computed before reading, so that any range can be served.
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { layOut, within, zipSize } from '../../../core/data/zip/zip-layout.ts'

const contents = new Map([
  ['a.txt', Buffer.from('one')],
  ['empty', Buffer.alloc(0)],
  ['folder/ü.bin', Buffer.from([0, 1, 2, 3, 4, 5, 6])],
])
const files = [...contents].map(([path, bytes]) => ({
  path,
  size: bytes.length,
  crc32: crc32(bytes),
  contentType: 'application/octet-stream',
  sha256: createHash('sha256').update(bytes).digest('hex'),
}))
const layout = layOut(files)

function read(start: number, end: number): Buffer {
  const pieces = [...within(layout, start, end)].map(({ part, from, to }) => {
    const bytes = 'bytes' in part ? part.bytes : (contents.get(part.file.path) as Buffer)
    return bytes.subarray(from, to + 1)
  })
  return Buffer.concat(pieces)
}

t.test('an archive has the size that was foretold', async (t) => {
  t.equal(layout.size, zipSize(files))
  t.equal(read(0, layout.size - 1).length, layout.size)
})

t.test('every range of an archive is that part of the whole', async (t) => {
  const whole = read(0, layout.size - 1)
  const wrong: string[] = []
  for (let start = 0; start < layout.size; start++) {
    for (let end = start; end < layout.size; end++) {
      if (!read(start, end).equals(whole.subarray(start, end + 1))) wrong.push(`${start}-${end}`)
    }
  }
  t.same(wrong, [])
})

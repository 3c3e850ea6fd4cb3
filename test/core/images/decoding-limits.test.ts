import { PNG } from 'pngjs'
import t from 'tap'
import { MOST_CHUNKS, MOST_SCANS, readStructure } from '../../../core/images/decoding-limits.ts'
import { jpegOfScans, pngOfChunks } from '../../kit/hostile-images.ts'

const png = PNG.sync.write(new PNG({ width: 20, height: 10 }))
/** The chunks of `png`: header, pixels, end. */
const OWN_CHUNKS = 3

t.test('scans are counted, and the size is read', async (t) => {
  t.strictSame(readStructure(jpegOfScans(64, MOST_SCANS)), { type: 'jpeg', width: 64, height: 64 })
  t.throws(() => readStructure(jpegOfScans(64, MOST_SCANS + 1)), {
    name: 'ImageRefusal',
    message: /more than 64 scans/,
  })
})

t.test('scans are counted behind bytes that decoders skip', async (t) => {
  const whole = jpegOfScans(64, MOST_SCANS + 1)
  const hidden = Buffer.concat([whole.subarray(0, 2), Buffer.from([0xff, 0x01, 7, 0, 0xff, 0xff]), whole.subarray(2)])
  t.throws(() => readStructure(hidden), { message: /more than 64 scans/ })
})

t.test('chunks are counted; a long picture may have more of them', async (t) => {
  const most = MOST_CHUNKS - OWN_CHUNKS
  t.strictSame(readStructure(pngOfChunks(png, most)), { type: 'png', width: 20, height: 10 })
  t.throws(() => readStructure(pngOfChunks(png, most + 100)), {
    name: 'ImageRefusal',
    message: /more than 100\d chunks/,
  })
  // 8 KiB a chunk, as libpng divides the pixels.
  const part = Buffer.alloc(12 + 8192)
  part.writeUInt32BE(8192)
  part.write('IDAT', 4)
  const long = Buffer.concat([png.subarray(0, 33), ...new Array(5000).fill(part), png.subarray(33)])
  t.ok(readStructure(long))
})

t.test('what is cut off is damaged, and other formats are not its concern', async (t) => {
  const jpeg = jpegOfScans(64, 3)
  for (const length of [3, 30, jpeg.length - 2]) t.throws(() => readStructure(jpeg.subarray(0, length)), /damaged/)
  for (const length of [8, 30, png.length - 1]) t.throws(() => readStructure(png.subarray(0, length)), /damaged/)
  t.equal(readStructure(Buffer.from('GIF89a')), null)
})

import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Test } from 'tap'
import type { Storage } from '../interface.ts'
import { MiB, unique } from './kit.ts'

/** Tests that large blobs are streamed in pieces. */
export async function testMemory(t: Test, storage: Storage): Promise<void> {
  await t.test('a blob of 64 MiB passes in less than 48 MiB of memory', async (t) => {
    const piece = randomBytes(MiB)
    const hash = createHash('sha256')
    for (let i = 0; i < 64; i++) hash.update(piece)
    const expected = { sha256: hash.digest('hex'), size: 64 * MiB }
    const memory = measureMemory()
    const body = Readable.from(
      (async function* () {
        for (let i = 0; i < 64; i++) {
          if (i % 8 === 7) memory.sample()
          yield piece
        }
      })(),
      { objectMode: false },
    )
    const key = unique()
    await storage.put(key, body, expected)
    t.ok(memory.growth() < 48 * MiB, `put grew by ${memory.growth()} bytes`)

    const reading = measureMemory()
    let size = 0
    for await (const chunk of await storage.get(key)) {
      const before = size
      size += chunk.length
      if (Math.floor(before / (8 * MiB)) < Math.floor(size / (8 * MiB))) reading.sample()
    }
    t.equal(size, expected.size)
    t.ok(reading.growth() < 48 * MiB, `get grew by ${reading.growth()} bytes`)
    await storage.delete(key)
  })
}

/** Measures the increase of buffered bytes from now on, without garbage. */
function measureMemory() {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const now = () => {
    collect()
    return process.memoryUsage().arrayBuffers
  }
  const start = now()
  let highest = start
  return {
    sample() {
      highest = Math.max(highest, now())
    },
    growth: () => highest - start,
  }
}

import type { BuildFile, OpenFile } from './build-file.ts'
import { decode } from './decode.ts'
import { hasSharedMemory } from './shared-memory.ts'

/** The maximum number of modules that are read, largest first. Games have one, and some a few for libraries. */
const MOST_MODULES = 50
/** The maximum number of bytes of all modules together, after decompression. */
const MODULE_BYTES = 64 * 1024 ** 2

/** WebAssembly as engines name it, also compressed: `game.wasm`, `game.wasm.br`, `game.wasm.code.unityweb`. */
const MODULE = /\.wasm(?:\.code)?(?:\.(?:br|gz|unityweb))?$/i

/** Returns the path of a module that imports or defines shared memory; null when there is none. */
export async function findSharedMemory<File extends BuildFile>(
  files: readonly File[],
  open: OpenFile<File>,
): Promise<string | null> {
  const modules = files.filter(({ path, size }) => MODULE.test(path) && size > 0)
  modules.sort((a, b) => b.size - a.size)
  const left = { bytes: MODULE_BYTES }
  for (const file of modules.slice(0, MOST_MODULES)) {
    if (left.bytes <= 0) return null
    const stored = await open(file, left.bytes)
    try {
      const decoded = await decode(file.path, stored)
      const shared = await hasSharedMemory(counted(decoded, left)).finally(() => decoded.destroy())
      if (shared) return file.path
    } catch (error) {
      // A module whose compression is broken does not run anywhere.
      if (stored.errored) throw error
    } finally {
      stored.destroy()
    }
  }
  return null
}

/** Yields the chunks of a stream until the budget is used up. */
async function* counted(stream: AsyncIterable<Uint8Array>, left: { bytes: number }): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) {
    left.bytes -= chunk.length
    yield chunk
    if (left.bytes <= 0) return
  }
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import initialise, { type CanvasKit } from 'canvaskit-wasm'
// biome-ignore lint/style/noRestrictedImports: a folder of the library, not ours
import wasm from 'canvaskit-wasm/bin/canvaskit.wasm'

/** Loads Skia, in the program of a worker thread. It reads its WebAssembly only from a file, so one is written. */
export async function openCanvasKit(): Promise<CanvasKit> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-canvaskit-'))
  try {
    const file = join(folder, 'canvaskit.wasm')
    writeFileSync(file, wasm)
    return await initialise.default({ locateFile: () => file })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

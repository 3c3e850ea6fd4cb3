// The program of a worker thread that draws the preview images of shared links. Each message is one card.
import { mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parentPort } from 'node:worker_threads'
import displayExtended from '@fontsource-variable/bricolage-grotesque/files/bricolage-grotesque-latin-ext-wght-normal.woff2'
import display from '@fontsource-variable/bricolage-grotesque/files/bricolage-grotesque-latin-wght-normal.woff2'
import text from '@fontsource-variable/instrument-sans/files/instrument-sans-latin-wght-normal.woff2'
import initialise from 'canvaskit-wasm'
// biome-ignore lint/style/noRestrictedImports: a folder of the library, not ours
import wasm from 'canvaskit-wasm/bin/canvaskit.wasm'
import { drawCard, type Studio } from '../cards/draw-card.ts'
import type { CardAnswer, CardTask } from '../cards/tasks.ts'

// On Linux a thread has its own priority. A lower one leaves the CPU to requests of players.
try {
  setPriority(Number(readlinkSync('/proc/thread-self').split('/').pop()), 10)
} catch {}

let studio: Promise<Studio> | undefined

/** CanvasKit reads its WebAssembly only from a file, so a temporary file is written. */
async function openKit() {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-cards-'))
  try {
    const file = join(folder, 'canvaskit.wasm')
    writeFileSync(file, wasm)
    return await initialise.default({ locateFile: () => file })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function open(): Promise<Studio> {
  const kit = await openKit()
  const fonts = kit.TypefaceFontProvider.Make()
  for (const [name, bytes] of Object.entries({ display, 'display-ext': displayExtended, text }))
    fonts.registerFont(bytes.slice().buffer, name)
  return { kit, fonts }
}

parentPort?.on('message', async (task: CardTask) => {
  let answer: CardAnswer
  try {
    studio ??= open()
    answer = { png: drawCard(await studio, task) }
  } catch (error) {
    answer = { failure: String((error as Error)?.stack ?? error) }
  }
  parentPort?.postMessage(answer, 'png' in answer ? [answer.png.buffer as ArrayBuffer] : [])
})

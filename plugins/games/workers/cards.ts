// The program of a worker thread that draws the preview images of shared links. Each message is one card.
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import displayExtended from '@fontsource-variable/bricolage-grotesque/files/bricolage-grotesque-latin-ext-wght-normal.woff2'
import display from '@fontsource-variable/bricolage-grotesque/files/bricolage-grotesque-latin-wght-normal.woff2'
import text from '@fontsource-variable/instrument-sans/files/instrument-sans-latin-wght-normal.woff2'
import { openCanvasKit } from '../../../core/images/canvaskit.ts'
import { drawCard, type Studio } from '../cards/draw-card.ts'
import type { CardAnswer, CardTask } from '../cards/worker-messages.ts'

// On Linux a thread has its own priority. A lower one leaves the CPU to requests of players.
try {
  setPriority(Number(readlinkSync('/proc/thread-self').split('/').pop()), 10)
} catch {}

let studio: Promise<Studio> | undefined

async function open(): Promise<Studio> {
  const kit = await openCanvasKit()
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

// The program of a worker thread that makes small pictures of uploaded ones. Each message is one picture.
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { CanvasKit } from 'canvaskit-wasm'
import { openCanvasKit } from '../canvaskit.ts'
import { ImageRefusal } from '../refusal.ts'
import { resize } from '../resize.ts'
import type { ImageAnswer, ImageTask } from '../worker-messages.ts'

// On Linux a thread has its own priority. A lower one leaves the CPU to requests of players.
try {
  setPriority(Number(readlinkSync('/proc/thread-self').split('/').pop()), 10)
} catch {}

let kit: Promise<CanvasKit> | undefined

parentPort?.on('message', async (task: ImageTask) => {
  let answer: ImageAnswer
  try {
    kit ??= openCanvasKit()
    answer = { bytes: resize(await kit, task) }
  } catch (error) {
    if (error instanceof ImageRefusal) answer = { refusal: error.message }
    else {
      // A failed WebAssembly module does not work any more.
      kit = undefined
      answer = { failure: String((error as Error)?.stack ?? error) }
    }
  }
  parentPort?.postMessage(answer)
})

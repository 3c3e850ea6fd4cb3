// The program of a worker thread that inspects pictures and videos of games. Each message is one file.
import { readlinkSync, readSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { MediaRefused, MediaTooLarge } from '../errors.ts'
import type { Bytes } from '../media/formats/format.ts'
import { inspect } from '../media/inspect.ts'
import type { MediaAnswer, MediaTask } from '../media/worker-messages.ts'

// On Linux a thread has its own priority. A lower one leaves the CPU to requests of players.
try {
  setPriority(Number(readlinkSync('/proc/thread-self').split('/').pop()), 10)
} catch {}

const bytesOf = ({ fd, size }: MediaTask): Bytes => ({
  size,
  async read(offset, length) {
    const buffer = Buffer.alloc(Math.max(0, Math.min(length, size - offset)))
    let filled = 0
    while (filled < buffer.length) {
      const count = readSync(fd, buffer, filled, buffer.length - filled, offset + filled)
      if (count === 0) break
      filled += count
    }
    return buffer.subarray(0, filled)
  },
})

parentPort?.on('message', async (task: MediaTask) => {
  let answer: MediaAnswer
  try {
    const { packed, ...inspected } = await inspect(bytesOf(task))
    answer = { inspected, packed }
  } catch (error) {
    if (error instanceof MediaTooLarge) answer = { refusal: error.message, isTooLarge: true }
    else if (error instanceof MediaRefused) answer = { refusal: error.message, isTooLarge: false }
    else answer = { failure: String((error as Error)?.stack ?? error) }
  }
  parentPort?.postMessage(answer, 'inspected' in answer && answer.packed ? [answer.packed.data.buffer] : [])
})

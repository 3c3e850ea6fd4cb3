// The program of a worker thread that reads, measures and creates models. Each message is one task.
import { readlinkSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { animateModel } from '../models/animate.ts'
import { selfContained } from '../models/embed.ts'
import { inspectModel, readModel } from '../models/inspect.ts'
import { simplifyModel } from '../models/lod.ts'
import { drawModel } from '../models/picture.ts'
import { ModelRefusal } from '../models/refusal.ts'
import { repairModel } from '../models/repair.ts'
import type { ModelAnswer, ModelTask } from '../models/worker-messages.ts'

// On Linux a thread has its own priority. A lower one leaves the CPU to requests of players.
try {
  setPriority(Number(readlinkSync('/proc/thread-self').split('/').pop()), 10)
} catch {}

async function perform(task: ModelTask): Promise<unknown> {
  const bytes = await readFile(task.path)
  switch (task.task) {
    case 'inspect':
      return inspectModel(bytes, task.beside)
    case 'embed': {
      const whole = await selfContained(bytes, task.beside)
      await writeFile(task.out, whole.bytes)
      return { ...(await inspectModel(whole.bytes)), uses: whole.uses }
    }
    case 'repair': {
      const repaired = await repairModel(bytes, task.beside)
      for (const [path, changed] of repaired.files) await writeFile(task.beside?.files.get(path) ?? '', changed)
      if (repaired.repairs.length > 0) await writeFile(task.out, repaired.bytes)
      return repaired.repairs
    }
    case 'simplify': {
      const simplified = await simplifyModel(bytes)
      if ('reason' in simplified) return simplified
      await writeFile(task.out, simplified.bytes)
      return { triangles: simplified.triangles }
    }
    case 'draw': {
      const picture = drawModel((await readModel(bytes, { beside: task.beside })).document)
      if (picture) await writeFile(task.out, picture)
      return picture && true
    }
    case 'animate': {
      const { clip } = task
      const choice = 'preset' in clip ? clip : { library: await readFile(clip.from), clip: clip.name }
      const animated = await animateModel(bytes, choice)
      if (typeof animated === 'string') return animated
      await writeFile(task.out, animated)
      return 'animated'
    }
  }
}

parentPort?.on('message', async (task: ModelTask) => {
  let answer: ModelAnswer
  try {
    answer = { result: await perform(task) }
  } catch (error) {
    // An error while reading an untrusted file is attributed to the file.
    const { message, stack, code } = error as NodeJS.ErrnoException
    if (error instanceof ModelRefusal) answer = { refusal: { message, details: error.details } }
    else if (error instanceof RangeError) answer = { refusal: { message: 'it is too deep or too large.', details: [] } }
    else answer = { failure: code ? `${code}: ${message}` : (stack ?? message) }
  }
  parentPort?.postMessage(answer)
})

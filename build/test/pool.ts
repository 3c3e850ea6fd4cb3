import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { root, type TestFile } from './files.ts'
import type { Outcome, Report } from './messages.ts'

/** A worker without a message for so long is in an endless loop, or has more work than any test should. */
const SILENCE_MS = 300_000
/** A worker runs at most so many files, so that the memory that they leave behind stays limited. */
const FILES_A_WORKER = 120
/** A platform per test creates much garbage. Fewer collections save a tenth of the total CPU time. */
const GARBAGE_FLAGS = ['--min-semi-space-size=32', '--max-semi-space-size=64']

/** A completed file, and its output besides the results. */
export interface Finished extends Outcome {
  output: string
}

/** A run under way. */
export interface Run {
  /** Resolves when all processes have ended. */
  done: Promise<void>
  /** Ends all processes at once. */
  stop(signal: NodeJS.Signals): void
}

/**
 * Runs files in parallel processes, each of which runs one file after the other. A process is replaced after a crash,
 * or when it is no longer reliable.
 *
 * @param files in the order in which they begin
 * @param onFinished called when a file ends
 */
export function runFiles(
  files: TestFile[],
  { jobs, env, onFinished }: { jobs: number; env: NodeJS.ProcessEnv; onFinished(finished: Finished): void },
): Run {
  const left = [...files]
  const workers = new Set<Worker>()
  let stopped = false
  const start = () => {
    const worker = new Worker(env)
    workers.add(worker)
    worker.closed.then(workers.delete.bind(workers, worker))
    return worker
  }
  const lane = async () => {
    let shared: Worker | undefined
    for (let file = left.shift(); file && !stopped; file = left.shift()) {
      if (shared?.isSpent) {
        // This is not awaited: the worker tears down what its files shared while the next one starts.
        shared.end()
        shared = undefined
      }
      if (file.alone) {
        // The shared process waits meanwhile, since another one would import the platform and start a browser again.
        const own = start()
        onFinished(await own.run(file.path))
        own.end()
        continue
      }
      shared ??= start()
      onFinished(await shared.run(file.path))
    }
    shared?.end()
  }
  const lanes = Array.from({ length: Math.min(jobs, files.length) }, lane)
  return {
    done: Promise.all(lanes)
      .then(() => Promise.all([...workers].map(({ closed }) => closed)))
      .then(() => {}),
    stop(signal) {
      stopped = true
      for (const worker of workers) worker.kill(signal)
    },
  }
}

class Worker {
  readonly #process: ChildProcess
  /** Resolves when the process has ended, with the reason if the runner did not request it. */
  readonly closed: Promise<string>
  #output = ''
  #begun = 0
  #spent = false
  #silence: NodeJS.Timeout | undefined
  #onReport: (report: Report) => void = () => {}

  constructor(env: NodeJS.ProcessEnv) {
    const hooks = new URL('module-hooks.ts', import.meta.url).href
    this.#process = spawn(
      process.execPath,
      [...GARBAGE_FLAGS, '--import', hooks, join(import.meta.dirname, 'worker.ts')],
      {
        cwd: root,
        env,
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      },
    )
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.on('data', (chunk) => (this.#output += chunk))
    this.#process.on('message', (report: Report) => {
      this.#silence?.refresh()
      this.#onReport(report)
    })
    this.closed = new Promise((resolve) => {
      this.#process.once('error', (error) => resolve(error.message))
      this.#process.once('close', (code, signal) => resolve(signal ? `ended by ${signal}` : `exit code ${code}`))
    })
    this.closed.then(() => this.spend())
  }

  /** Whether the process accepts no further file. */
  get isSpent(): boolean {
    return this.#spent || this.#begun >= FILES_A_WORKER
  }

  spend(): void {
    this.#spent = true
  }

  async run(file: string): Promise<Finished> {
    this.#begun++
    this.#output = ''
    const startedAt = performance.now()
    this.#silence = setTimeout(() => this.kill('SIGKILL'), SILENCE_MS)
    const reported = new Promise<Outcome>((resolve) => {
      // tap uses the same channel.
      this.#onReport = (report) => typeof report === 'object' && 'counts' in report && resolve(report)
    })
    this.#process.send({ file }, () => {})
    const outcome = await Promise.race([
      reported,
      this.closed.then((why) => brokenDown(file, why, (performance.now() - startedAt) / 1000)),
    ])
    clearTimeout(this.#silence)
    if (outcome.timedOut) {
      this.spend()
      this.kill('SIGKILL')
    }
    return { ...outcome, output: this.#output }
  }

  /** Asks the process to shut down, and kills it after a time limit. */
  end(): void {
    this.#process.send({ file: null }, () => {})
    const late = setTimeout(() => this.kill('SIGKILL'), 30_000)
    this.closed.then(() => clearTimeout(late))
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }
}

/** Builds the result of a file whose process died. It counts as one failure, however many of its tests passed. */
function brokenDown(file: string, why: string, seconds: number): Outcome {
  return {
    file,
    counts: { passed: 0, failed: 1, skipped: 0 },
    failures: [`${file}: its process did not come to the end of it: ${why}`],
    skips: [],
    seconds,
    processorSeconds: null,
    timedOut: false,
  }
}

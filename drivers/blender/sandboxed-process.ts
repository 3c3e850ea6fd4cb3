import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { packFiles, RefusedArtifact, unpackArtifacts } from './archive.ts'
import { type BlenderRun, ExecutorUnavailable, type RunEnd } from './interface.ts'
import { lowerPriority, memoryOf } from './process-tree.ts'
import { blenderArguments, watchLines, whenAborted } from './run.ts'
import { limitCommand, type SandboxOptions, sandboxCommand } from './sandbox.ts'
import { STREAMING } from './supervisor.ts'

/** The interval between two measurements of the memory of a run. */
const LOOK_MS = 250
/** The supervisor's exit code for incomplete input. */
const NO_INPUT = 97

/** Runs Blender in a sandbox. Input and output are streams, so that no folder of this machine is shared with it. */
export async function runProcess(run: BlenderRun, options: SandboxOptions, slot: number): Promise<RunEnd> {
  const { limits, artifacts, signal } = run
  if (signal.aborted) return { ending: 'cancelled' }
  const sandbox = await sandboxCommand(options, slot)
  const blender = [
    options.blender,
    ...blenderArguments(options.threads),
    `/job/in/${run.main}`,
    '--',
    '/job/in',
    '/job/out',
  ]
  const program = ['/bin/sh', '-c', STREAMING, 'sh', ...artifacts, '--', ...limitCommand(options, limits), ...blender]
  const child = await started(() =>
    spawn(sandbox.command, ['--info-fd', '4', ...sandbox.args, ...program], {
      ...sandbox.spawn,
      env: {},
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    }),
  )
  lowerPriority(child.pid)
  const [input, , , output, info] = child.stdio as [Writable, unknown, unknown, Readable, Readable]
  const kill = killerOf(child, info)
  const ended = once(child, 'close') as Promise<[code: number | null, signal: NodeJS.Signals | null]>
  ended.catch(() => {}) // handled below, for example when the program is missing
  let early: RunEnd | null = null
  const end = (reason: RunEnd) => {
    early ??= reason
    kill()
  }
  const timer = setTimeout(() => end({ ending: 'timeout' }), limits.timeoutSeconds * 1000)
  const forget = whenAborted(signal, () => end({ ending: 'cancelled' }))
  const excess = (what: string) => () => end({ ending: 'limit_exceeded', what })
  const watching = setInterval(async () => {
    if (child.pid && (await memoryOf(child.pid, options.memoryBytes)) > options.memoryBytes) excess('memory')()
  }, LOOK_MS)
  let complaint = ''
  try {
    const { logBytes } = limits
    watchLines(child.stdout as Readable, { logBytes, onLine: run.onLine, onExcess: excess('log') })
    child.stderr?.on('data', (chunk) => {
      complaint = (complaint + chunk).slice(0, 1000)
    })
    input.on('error', () => {}) // the sandbox may end before it has read all input
    const packed = (await isUp(output, ended))
      ? packFiles(run.files, input).catch((error: Error) => {
          if (!early && child.exitCode === null) end({ ending: 'cancelled' })
          return error
        })
      : null
    const taken = await unpackArtifacts(output, {
      names: artifacts,
      artifactBytes: limits.artifactBytes,
      output: run.output,
    }).catch((error: Error) => error)
    if (taken instanceof RefusedArtifact) {
      if (taken.reason === 'size') end({ ending: 'limit_exceeded', what: taken.artifact })
      else end({ ending: 'invalid_artifact', name: taken.artifact })
    }
    const [code, killedBy] = await ended
    if (early) return early
    const sent = await packed
    if (code === NO_INPUT || (code === 1 && complaint.startsWith('bwrap:')))
      throw new ExecutorUnavailable(complaint.trim() || String(sent ?? 'the sandbox did not start.'))
    if (taken instanceof Error) return { ending: 'exited', code: code || 1, artifacts: [] }
    return { ending: 'exited', code: code ?? (killedBy ? 128 : 1), artifacts: taken }
  } finally {
    clearTimeout(timer)
    clearInterval(watching)
    forget()
    kill()
    await ended.catch(() => {})
  }
}

/** @throws ExecutorUnavailable when the program is missing, or the system starts no more processes */
async function started(start: () => ChildProcess): Promise<ChildProcess> {
  try {
    const child = start()
    if (child.pid === undefined) throw (await once(child, 'error'))[0]
    return child
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ExecutorUnavailable(
      code === 'ENOENT'
        ? 'bwrap is gone.'
        : `the system starts no more programs (${code}); see TasksMax and MemoryMax.`,
    )
  }
}

/**
 * Returns a function that ends a sandbox at any moment by killing its first process; the kernel then ends all others in
 * it. Killing bwrap is not enough while it starts: until the first process has asked to die with bwrap, the sandbox
 * would continue without it.
 *
 * @param info status output of bwrap (`--info-fd`)
 */
function killerOf(child: ChildProcess, info: Readable): () => void {
  let first = 0
  let wanted = false
  let said = ''
  const kill = () => {
    wanted = true
    if (first === 0 || child.exitCode !== null || child.signalCode !== null) return
    try {
      process.kill(first, 'SIGKILL')
    } catch {} // the process has just ended
  }
  info.on('data', (chunk) => {
    said += chunk
    first = Number(/"child-pid": *(\d+)\D/.exec(said)?.[1] ?? 0)
    if (wanted) kill()
  })
  return kill
}

/**
 * Waits for the supervisor's first byte. The script is sent only after it, because from then on the sandbox ends
 * together with this process. If this process dies earlier, no part of the script has run, and the supervisor ends
 * because its input is closed.
 *
 * @returns false when the sandbox ended first
 */
async function isUp(output: Readable, ended: Promise<unknown>): Promise<boolean> {
  await Promise.race([once(output, 'readable'), ended])
  return output.read(1) !== null
}

/** Numbers for concurrent jobs; each job gets the smallest free one. */
export class Slots {
  readonly #taken = new Set<number>()
  readonly #runs = new Set<Promise<unknown>>()

  /** Returns a free number without taking it. */
  peek(): number {
    let slot = 0
    while (this.#taken.has(slot)) slot++
    return slot
  }

  async use<T>(work: (slot: number) => Promise<T>): Promise<T> {
    const slot = this.peek()
    this.#taken.add(slot)
    const running = work(slot)
    this.#runs.add(running)
    try {
      return await running
    } finally {
      this.#taken.delete(slot)
      this.#runs.delete(running)
    }
  }

  /** Resolves when no job runs. */
  async idle(): Promise<void> {
    await Promise.allSettled([...this.#runs])
  }
}

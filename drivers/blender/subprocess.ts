import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import Type from 'typebox'
import { defineDriver } from '../../core/driver.ts'
import { type Availability, type BlenderExecutor, ExecutorUnavailable } from './interface.ts'
import { endLeftovers } from './leftovers.ts'
import { Probe } from './probe.ts'
import { assertRun } from './run.ts'
import { findProgram, SandboxMissing, type SandboxOptions, sandboxCommand } from './sandbox.ts'
import { runProcess, Slots } from './sandboxed-process.ts'
import { runUnsandboxed, sweepUnsandboxed } from './unsandboxed.ts'

const run = promisify(execFile)

/**
 * Runs Blender as a process of this machine, in a bubblewrap sandbox and under resource limits. Without the sandbox it
 * refuses to run, unless the configuration says `unsafe: true`.
 */
export default defineDriver({
  family: 'blender',
  name: 'subprocess',
  config: Type.Object(
    {
      command: Type.String({ default: 'blender', description: 'Blender: a name on the PATH, or an absolute path.' }),
      capacity: Type.Integer({
        default: 1,
        minimum: 0,
        maximum: 64,
        description: 'Jobs at once; 0 leaves them to `gameyard worker`.',
      }),
      memoryBytes: Type.Integer({ default: 4 * 1024 ** 3, minimum: 512 * 1024 ** 2, description: 'Of one job.' }),
      diskBytes: Type.Integer({
        default: 1024 ** 3,
        minimum: 64 * 1024 ** 2,
        description:
          'Space in memory for the input and output of one job; it gets half of that again for scratch files.',
      }),
      processes: Type.Integer({ default: 128, minimum: 24, description: 'Processes and threads of one job.' }),
      threads: Type.Integer({ default: 2, minimum: 1, maximum: 64, description: 'Cores that one job may use.' }),
      unsafe: Type.Boolean({
        default: false,
        description:
          'Runs jobs WITHOUT containment: they may then do whatever this server may. For your own scripts only.',
      }),
    },
    { additionalProperties: false },
  ),

  async create(config, { dataDir, log }): Promise<BlenderExecutor> {
    const closing = new AbortController()
    const slots = new Slots()
    if (config.unsafe) log.warn('blender.unsafe is on: Blender jobs run without containment')

    const probe = new Probe()
    const options = async (): Promise<SandboxOptions> => ({ ...config, blender: await findProgram(config.command) })
    const check = async (): Promise<Availability> => {
      try {
        const found = await options()
        const { command, args, spawn } = config.unsafe
          ? { command: found.blender, args: [], spawn: {} }
          : await sandboxCommand(found, slots.peek())
        const blender = config.unsafe ? [] : [found.blender]
        const ask = async (...questions: string[]) =>
          (await run(command, [...args, ...blender, ...questions], { ...spawn, timeout: 30_000 })).stdout
        const reason = `${config.command} does not say which version of Blender it is.`
        return (await probe.check(ask)) ?? { available: false, reason }
      } catch (error) {
        return { available: false, reason: reasonOf(error) }
      }
    }

    return {
      name: 'subprocess',
      capacity: config.capacity,
      check,
      async run(job) {
        assertRun(job)
        if (closing.signal.aborted) throw new ExecutorUnavailable('the server is stopping.')
        const signal = AbortSignal.any([job.signal, closing.signal])
        try {
          const found = await options()
          if (config.unsafe) return await runUnsandboxed({ ...job, signal }, { ...found, dataDir })
          return await slots.use((slot) => runProcess({ ...job, signal }, found, slot))
        } catch (error) {
          if (error instanceof SandboxMissing) throw new ExecutorUnavailable(error.message)
          throw error
        }
      },
      async sweep() {
        await endLeftovers()
        await sweepUnsandboxed(dataDir)
      },
      async close() {
        closing.abort()
        await slots.idle()
      },
    }
  },
})

function reasonOf(error: unknown): string {
  if (error instanceof SandboxMissing) return error.message
  const { stderr, message } = error as Error & { stderr?: string }
  const first = (stderr || message).trim().split('\n')[0]
  return `Blender did not start in its sandbox: ${first}`
}

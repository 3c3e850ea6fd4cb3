import type { default as Docker } from 'dockerode'
import Type from 'typebox'
import { defineDriver } from '../../core/driver.ts'
import { createContainer, nodeLabel, removeContainer, sweepContainers } from './container.ts'
import { runContainer } from './container-run.ts'
import { type Availability, type BlenderExecutor, ExecutorUnavailable } from './interface.ts'
import { Probe } from './probe.ts'
import { assertRun } from './run.ts'

/**
 * Runs Blender in containers of a Docker engine, on this machine or another. Files are transferred by the engine's
 * archive API, so the engine and this server need no common folder.
 */
export default defineDriver({
  family: 'blender',
  name: 'docker',
  config: Type.Object(
    {
      image: Type.String({ description: 'Image with Blender and a shell; see docker/blender.Dockerfile.' }),
      socketPath: Type.String({ default: '/var/run/docker.sock', description: "The engine's socket." }),
      url: Type.Optional(
        Type.String({
          pattern: '^https?://',
          description: 'The engine, when it is another machine: http://10.0.0.2:2375.',
        }),
      ),
      command: Type.String({ default: 'blender', description: 'Blender in the image.' }),
      capacity: Type.Integer({ default: 1, minimum: 0, maximum: 64, description: 'Jobs at once.' }),
      memoryBytes: Type.Integer({
        default: 4 * 1024 ** 3,
        minimum: 512 * 1024 ** 2,
        description: 'Memory of one job, including its files.',
      }),
      diskBytes: Type.Integer({
        default: 1024 ** 3,
        minimum: 64 * 1024 ** 2,
        description:
          'Space in memory for the input and output of one job; it gets half of that again for scratch files.',
      }),
      processes: Type.Integer({ default: 128, minimum: 24, description: 'Processes and threads of one job.' }),
      threads: Type.Integer({ default: 2, minimum: 1, maximum: 64, description: 'Cores that one job may use.' }),
      readOnlyMounts: Type.Array(Type.String({ pattern: '^/' }), {
        default: [],
        description: "Folders of the engine's machine that jobs may read, for images without a Blender of their own.",
      }),
    },
    { additionalProperties: false },
  ),

  async create(config, { dataDir, log, clock }): Promise<BlenderExecutor> {
    const closing = new AbortController()
    const running = new Set<Promise<unknown>>()
    const node = nodeLabel(dataDir)
    let engine: Docker | null = null
    const docker = async (): Promise<Docker> => {
      if (engine) return engine
      // The import takes 150 ms, so only a process that runs jobs loads it.
      const { default: Engine } = await import('dockerode')
      const { hostname, port, protocol } = new URL(config.url ?? 'http://localhost')
      const https = protocol === 'https:'
      const address = {
        host: hostname,
        port: port || (https ? 2376 : 2375),
        protocol: https ? 'https' : 'http',
      } as const
      engine = new Engine(config.url ? address : { socketPath: config.socketPath })
      return engine
    }

    let asked = 0
    /** Runs Blender in a container with these arguments and returns its output. */
    const ask = async (...questions: string[]): Promise<string> => {
      const program = ['/bin/sh', '-c', 'read -r go; exec "$@"', 'sh', config.command, ...questions]
      const name = `gameyard-check-${node}-${process.pid}-${clock.now().getTime().toString(36)}-${++asked}`
      const engine = await docker()
      const container = await createContainer(engine, config, { name, node, program, artifactBytes: 65_536 })
      try {
        const stream = await container.attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true })
        let text = ''
        stream.on('data', (chunk) => {
          text += chunk
        })
        await container.start()
        stream.write('go\n')
        await container.wait()
        return text
      } finally {
        await removeContainer(engine, name)
      }
    }

    const probe = new Probe()
    const check = async (): Promise<Availability> => {
      try {
        const found = await probe.check(ask)
        const reason = `${config.command} in ${config.image} does not say which version of Blender it is.`
        return found ?? { available: false, reason }
      } catch (error) {
        return { available: false, reason: reasonOf(error, config) }
      }
    }

    return {
      name: 'docker',
      capacity: config.capacity,
      check,
      async run(job) {
        assertRun(job)
        if (closing.signal.aborted) throw new ExecutorUnavailable('the server is stopping.')
        const signal = AbortSignal.any([job.signal, closing.signal])
        const run = runContainer(await docker(), config, node, { ...job, signal })
        running.add(run)
        try {
          return await run
        } catch (error) {
          log.warn({ err: error, run: job.id }, 'a container could not be run')
          throw new ExecutorUnavailable(reasonOf(error, config))
        } finally {
          running.delete(run)
        }
      },
      async sweep() {
        await sweepContainers(await docker(), node, isAlive).catch((error) =>
          log.warn({ err: error }, 'looking for containers of earlier runs failed'),
        )
      },
      async close() {
        closing.abort()
        await Promise.allSettled([...running])
      },
    }
  },
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function reasonOf(
  error: unknown,
  { image, url, socketPath }: { image: string; url?: string; socketPath: string },
): string {
  const { code, statusCode, message } = error as Error & { code?: string; statusCode?: number }
  if (statusCode === 404 && /no such image/i.test(message))
    return `The Docker engine has no image ${image}; build or pull it.`
  if (code) return `The Docker engine at ${url ?? socketPath} does not answer (${code}).`
  return `The Docker engine refused: ${message.slice(0, 300)}`
}

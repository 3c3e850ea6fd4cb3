import { PassThrough, type Readable } from 'node:stream'
import type { Container, default as Docker } from 'dockerode'
import { packFiles, RefusedArtifact, unpackArtifacts } from './archive.ts'
import { type ContainerOptions, createContainer, removeContainer } from './container.ts'
import { type BlenderRun, blenderArguments, type RunEnd, watchLines, whenAborted } from './interface.ts'
import { WAITING } from './supervisor.ts'

/** Begins the line by which the supervisor says that Blender has ended. A script that writes it ends its run early. */
const MARKER = '@gameyard-ended'

/** Runs Blender in a container of its own, which is removed however it ends. */
export async function runContainer(
  docker: Docker,
  options: ContainerOptions,
  node: string,
  run: BlenderRun,
): Promise<RunEnd> {
  const { limits, signal } = run
  if (signal.aborted) return { ending: 'cancelled' }
  const blender = [
    options.command,
    ...blenderArguments(options.threads),
    `/job/in/${run.main}`,
    '--',
    '/job/in',
    '/job/out',
  ]
  const program = ['/bin/sh', '-c', WAITING, 'sh', MARKER, ...blender]
  const { artifactBytes } = limits
  const name = `gameyard-${run.id}`
  const container = await createContainer(docker, options, { name, node, program, artifactBytes })
  const early = Promise.withResolvers<RunEnd>()
  const timer = setTimeout(() => early.resolve({ ending: 'timeout' }), limits.timeoutSeconds * 1000)
  const forget = whenAborted(signal, () => early.resolve({ ending: 'cancelled' }))
  let events: Readable | null = null
  try {
    // Whatever the work still waits for ends when the container does.
    const exceeded = (what: string) => early.resolve({ ending: 'limit_exceeded', what })
    events = await outOfMemory(docker, container, () => exceeded('memory'))
    const work = perform(container, run, exceeded)
    work.catch(() => {})
    return await Promise.race([work, early.promise])
  } finally {
    clearTimeout(timer)
    forget()
    events?.destroy()
    await removeContainer(docker, name)
  }
}

/** Calls back when the kernel ends a process of a container for want of memory; the container itself may go on. */
async function outOfMemory(docker: Docker, { id }: Container, onEvent: () => void): Promise<Readable> {
  const events = (await docker.getEvents({ filters: { container: [id], event: ['oom'] } })) as Readable
  events.once('data', onEvent)
  events.on('error', () => {}) // it is destroyed in the end
  return events
}

async function perform(container: Container, run: BlenderRun, exceeded: (what: string) => void): Promise<RunEnd> {
  const { limits, onLine } = run
  const stream = await container.attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true })
  const output = new PassThrough()
  container.modem.demuxStream(stream, output, output)
  stream.on('end', () => output.end())
  stream.on('error', () => output.end())
  const ended = new Promise<number>((resolve) => {
    watchLines(output, {
      logBytes: limits.logBytes,
      onExcess: () => exceeded('log'),
      onLine(line) {
        const code = line.startsWith(`${MARKER} `) ? Number(line.slice(MARKER.length)) : Number.NaN
        if (Number.isInteger(code)) resolve(code)
        else onLine(line)
      },
    })
    output.on('end', () => resolve(1))
  })
  await container.start()
  const archive = new PassThrough()
  const put = container.putArchive(archive, { path: '/job' })
  await Promise.all([put, packFiles(run.files, archive, 'in/', ['out'])])
  stream.write('go\n')
  const code = await ended
  const { State } = await container.inspect()
  if (!State.Running) return { ending: 'exited', code, artifacts: [] }
  // Nothing moves while it is read. Where that can't be had, the supervisor has ended the rest, and what is read of a
  // file that changes is bounded and checked all the same.
  await container.pause().catch(() => {})
  return take(container, run, code)
}

/** Artifacts one by one: the folder as a whole may hold anything. */
async function take(container: Container, run: BlenderRun, code: number): Promise<RunEnd> {
  const artifacts: string[] = []
  for (const name of run.artifacts) {
    const archive = await container.getArchive({ path: `/job/out/${name}` }).catch((error: { statusCode?: number }) => {
      if (error.statusCode === 404) return null
      throw error
    })
    if (!archive) continue
    try {
      const { artifactBytes } = run.limits
      const found = await unpackArtifacts(archive as Readable, { names: [name], artifactBytes, output: run.output })
      artifacts.push(...found)
    } catch (error) {
      if (!(error instanceof RefusedArtifact)) throw error
      return error.reason === 'size' ? { ending: 'limit_exceeded', what: name } : { ending: 'invalid_artifact', name }
    }
  }
  return { ending: 'exited', code, artifacts }
}

import { PassThrough, type Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Container, default as Docker } from 'dockerode'
import { packFiles, RefusedArtifact, unpackArtifacts } from './archive.ts'
import { type ContainerOptions, createContainer, removeContainer } from './container.ts'
import type { BlenderRun, RunEnd } from './interface.ts'
import { blenderArguments, watchLines, whenAborted } from './run.ts'
import { WAITING } from './supervisor.ts'

/** Begins the line by which the supervisor says that Blender has ended. A script that writes it ends its run early. */
const MARKER = '@gameyard-ended'
/** How long the engine may take to let go of a container after files went in or out. */
const LETTING_GO_MS = 5000

/** The program of a run in its container, and the signal for its end. */
interface Work {
  exceeded(what: string): void
  over: AbortSignal
  /** Notes that files go in or out until this settles. */
  moves(files: Promise<unknown>): void
}

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
  const over = new AbortController()
  const moving: Promise<unknown>[] = []
  let events: Readable | null = null
  try {
    // Everything that the work still waits for ends with the container.
    const exceeded = (what: string) => early.resolve({ ending: 'limit_exceeded', what })
    events = await outOfMemory(docker, container, () => exceeded('memory'))
    const moves = (files: Promise<unknown>) => void moving.push(files.catch(() => {}))
    const work = perform(container, run, { exceeded, over: over.signal, moves })
    work.catch(() => {})
    return await Promise.race([work, early.promise])
  } finally {
    clearTimeout(timer)
    forget()
    events?.destroy()
    over.abort()
    // While files are copied in or out, the engine mounts everything that belongs to a container, including folders of
    // this machine. Removing the container meanwhile could leave some of these mounts, or empty a folder together with
    // its mount.
    await Promise.race([Promise.all(moving), sleep(LETTING_GO_MS, undefined, { ref: false })])
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

async function perform(container: Container, run: BlenderRun, work: Work): Promise<RunEnd> {
  const { limits, onLine } = run
  const { exceeded, over, moves } = work
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
  over.throwIfAborted()
  const sent = send(container, run, over)
  moves(sent)
  await sent
  stream.write('go\n')
  const code = await ended
  const { State } = await container.inspect()
  if (!State.Running) return { ending: 'exited', code, artifacts: [] }
  // The container is paused while its files are read. Where pausing is not possible, the supervisor has ended the other
  // processes, and a file that changes during the read is still bounded and checked.
  await container.pause().catch(() => {})
  return take(container, run, code, work)
}

/** Puts a run's files into its container. Settles when the engine is done with them, also when it is cut short. */
async function send(container: Container, run: BlenderRun, over: AbortSignal): Promise<void> {
  const archive = new PassThrough()
  // A shortened upload is ended properly, so that the engine answers; a broken request would get no answer.
  const body = new PassThrough()
  archive.pipe(body)
  archive.once('close', () => body.end())
  archive.on('error', () => {})
  const forget = whenAborted(over, () => archive.destroy(new Error('The run is over.')))
  const put = container.putArchive(body, { path: '/job' })
  put.catch((error) => archive.destroy(error))
  const [answered, packed] = await Promise.allSettled([put, packFiles(run.files, archive, 'in/', ['out'])])
  forget()
  if (answered.status === 'rejected') throw answered.reason
  if (packed.status === 'rejected') throw packed.reason
}

/** Artifacts one by one: the folder as a whole may hold anything. */
async function take(container: Container, run: BlenderRun, code: number, { over, moves }: Work): Promise<RunEnd> {
  const artifacts: string[] = []
  for (const name of run.artifacts) {
    over.throwIfAborted()
    const archive = await container.getArchive({ path: `/job/out/${name}` }).catch((error: { statusCode?: number }) => {
      if (error.statusCode === 404) return null
      throw error
    })
    if (!archive) continue
    moves(new Promise((done) => archive.once('close', done)))
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

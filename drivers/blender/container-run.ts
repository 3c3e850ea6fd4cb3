import { PassThrough, type Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Container, default as Docker } from 'dockerode'
import { packFiles, RefusedArtifact, unpackArtifacts } from './archive.ts'
import { type ContainerOptions, createContainer, removeContainer } from './container.ts'
import type { BlenderRun, RunEnd } from './interface.ts'
import { blenderArguments, watchLines, whenAborted } from './run.ts'
import { WAITING } from './supervisor.ts'

/**
 * Prefix of the line by which the supervisor reports the end of Blender. A script that prints it only ends its own run
 * early.
 */
const MARKER = '@gameyard-ended'
/** Maximum time that the engine may need to release a container after a file transfer. */
const LETTING_GO_MS = 5000

/** The controls of a run in its container, with the signal for its end. */
interface Work {
  exceeded(what: string): void
  over: AbortSignal
  /** Registers a file transfer, which is in progress until the promise settles. */
  moves(files: Promise<unknown>): void
}

/** Runs Blender in a container of its own, and removes the container in every case. */
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
    // Everything that `work` still waits for ends with the container.
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
    // During a file transfer the engine mounts everything that belongs to the container, including folders of this
    // machine. Removing the container meanwhile could leave some of these mounts, or empty a folder together with its
    // mount.
    await Promise.race([Promise.all(moving), sleep(LETTING_GO_MS, undefined, { ref: false })])
    await removeContainer(docker, name)
  }
}

/** Calls back when the kernel ends a process of a container for lack of memory; the container itself may continue. */
async function outOfMemory(docker: Docker, { id }: Container, onEvent: () => void): Promise<Readable> {
  const events = (await docker.getEvents({ filters: { container: [id], event: ['oom'] } })) as Readable
  events.once('data', onEvent)
  events.on('error', () => {}) // the stream is destroyed at the end
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

/**
 * Copies the files of a run into its container. Resolves when the engine has finished with them, also after an abort.
 */
async function send(container: Container, run: BlenderRun, over: AbortSignal): Promise<void> {
  const archive = new PassThrough()
  // An aborted upload still ends the body properly, so that the engine responds; it would not respond to a broken
  // request.
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

/** Reads the artifacts one by one, since the output folder may contain anything. */
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

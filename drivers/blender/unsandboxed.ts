import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, lstat, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder } from '../../core/data/folders/make-folder.ts'
import { type BlenderRun, ExecutorUnavailable, type RunEnd } from './interface.ts'
import { lowerPriority } from './process-tree.ts'
import { blenderArguments, watchLines, whenAborted } from './run.ts'

const folderOf = (dataDir: string) => join(dataDir, 'blender', 'unsafe')

/**
 * Runs Blender as an ordinary process, for `unsafe: true`: for the operator's own scripts on a machine without
 * bubblewrap. Only time and output are bounded.
 */
export async function runUnsandboxed(
  run: BlenderRun,
  { blender, threads, dataDir }: { blender: string; threads: number; dataDir: string },
): Promise<RunEnd> {
  const { limits, signal } = run
  if (signal.aborted) return { ending: 'cancelled' }
  const folder = join(folderOf(dataDir), run.id)
  const [input, output] = [join(folder, 'in'), join(folder, 'out')]
  try {
    await makeFolder(output)
    for (const { path, content } of run.files) {
      const file = join(input, path)
      await makeFolder(dirname(file))
      if (typeof content === 'string' || Buffer.isBuffer(content)) await writeFile(file, content)
      else await copyFile(content.file, file)
    }
    const args = [...blenderArguments(threads), join(input, run.main), '--', input, output]
    const child = spawn(blender, args, { cwd: output, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    lowerPriority(child.pid)
    const closed = once(child, 'close') as Promise<[number | null]>
    closed.catch(() => {})
    await once(child, 'spawn')
    let early: RunEnd | null = null
    const end = (reason: RunEnd) => {
      early ??= reason
      endGroup(child.pid as number)
    }
    const timer = setTimeout(() => end({ ending: 'timeout' }), limits.timeoutSeconds * 1000)
    const forget = whenAborted(signal, () => end({ ending: 'cancelled' }))
    const onExcess = () => end({ ending: 'limit_exceeded', what: 'log' })
    for (const stream of [child.stdout, child.stderr])
      watchLines(stream, { logBytes: limits.logBytes, onLine: run.onLine, onExcess })
    const [code] = await once(child, 'exit')
    clearTimeout(timer)
    forget()
    endGroup(child.pid as number)
    await closed
    return early ?? { ...(await take(run, output)), ...(code === 0 ? {} : { code: code ?? 1 }) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall?.startsWith('spawn'))
      throw new ExecutorUnavailable(`${blender} cannot be started.`)
    throw error
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function take({ artifacts, limits, output }: BlenderRun, from: string): Promise<RunEnd> {
  const taken: string[] = []
  for (const name of artifacts) {
    const found = await lstat(join(from, name)).catch(() => null)
    if (!found) continue
    if (!found.isFile()) return { ending: 'invalid_artifact', name }
    if (found.size > limits.artifactBytes) return { ending: 'limit_exceeded', what: name }
    await rename(join(from, name), join(output, name)).catch(() => copyFile(join(from, name), join(output, name)))
    taken.push(name)
  }
  return { ending: 'exited', code: 0, artifacts: taken }
}

/** Ends a process and its descendants in the same process group. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {}
}

/** Removes the folders of runs whose server died. */
export const sweepUnsandboxed = (dataDir: string): Promise<void> =>
  rm(folderOf(dataDir), { recursive: true, force: true })

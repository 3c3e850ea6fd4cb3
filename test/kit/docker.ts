import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { until } from './blender.ts'
import { mortal } from './watchdog.ts'

/** A Docker engine of the test's own, with one image that has nothing of its own. */
export interface DockerEngine {
  socketPath: string
  image: string
  /** What an image without programs needs of this machine. */
  readOnlyMounts: string[]
  /** Ids of containers and names of volumes there are. */
  leftovers(): Promise<string[]>
}

/**
 * Starts an engine with its data in a folder of its own; ends with the test. Nothing is pulled: the image is an empty
 * tree, and this machine's programs are mounted into it.
 */
export async function startDocker(t: Test): Promise<DockerEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-docker-'))
  const socketPath = join(folder, 'docker.sock')
  const flags = ['--iptables=false', '--ip6tables=false', '--bridge=none', '--pidfile', join(folder, 'pid')]
  const place = ['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '-H', `unix://${socketPath}`]
  // Into a file: nobody reads a pipe while a command below is waited for, and a full one stops the engine.
  const log = join(folder, 'log')
  const written = openSync(log, 'w')
  const engine = spawn('dockerd', [...flags, ...place], { stdio: ['ignore', 'ignore', written] })
  closeSync(written)
  // Asked to end, so that it ends what it has started.
  mortal(engine, { signal: 'TERM' })
  const ended = once(engine, 'exit')
  t.teardown(async () => {
    engine.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  const docker = (...args: string[]) =>
    String(
      execFileSync('docker', ['-H', `unix://${socketPath}`, ...args], {
        ...{ stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 },
      }),
    )
  await until(async () => {
    if (engine.exitCode !== null) throw new Error(`dockerd ended: ${readFileSync(log, 'utf8').slice(-4000)}`)
    try {
      return docker('version')
    } catch {
      return null
    }
  })
  const image = 'gameyard-blender-test:1'
  docker('import', emptyTree(folder), image)
  const leftovers = async () =>
    [...docker('ps', '-aq').split('\n'), ...docker('volume', 'ls', '-q').split('\n')].filter(Boolean)
  return { socketPath, image, readOnlyMounts: ['/usr', '/etc/alternatives'], leftovers }
}

function emptyTree(folder: string): string {
  const tree = join(folder, 'tree')
  for (const name of ['usr', 'etc/alternatives', 'tmp', 'job', 'proc', 'sys', 'dev', 'run'])
    mkdirSync(join(tree, name), { recursive: true })
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(tree, name))
  writeFileSync(join(tree, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n')
  const file = join(folder, 'tree.tar')
  execFileSync('tar', ['-cf', file, '-C', tree, '.'])
  return file
}

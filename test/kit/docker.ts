import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Test } from 'tap'
import { timeLimit } from './time-limit.ts'
import { until } from './until.ts'
import { endWithParent } from './watchdog.ts'

/** A Docker engine for one test, with one empty image. */
export interface DockerEngine {
  socketPath: string
  image: string
  /** The mounts of this machine that an image without programs needs. */
  readOnlyMounts: string[]
  /** Runs the command `docker`. @returns its output; throws when it fails */
  docker(...args: string[]): string
  /** Lists the ids of existing containers and the names of existing volumes. */
  leftovers(): Promise<string[]>
  /** Returns the lines of `/proc/self/mounts` in the engine's mount namespace. */
  mounts(): string[]
}

/** The folders of this machine that an image without programs needs. */
const OF_THIS_MACHINE = ['/usr', '/etc/alternatives']

/**
 * Makes the engine use private mounts, and mounts the folders of this machine read-only: an engine that leaves a mount
 * behind and then removes the folder around it would empty the mounted folder.
 */
const IN_PRIVATE = `${OF_THIS_MACHINE.map((path) => `mount --bind ${path} ${path} && mount -o remount,bind,ro ${path} && `).join('')}exec dockerd "$@"`

/**
 * Starts an engine with its data in its own folder; it ends with the test. Nothing is pulled: the image is an empty
 * tree, and this machine's programs are mounted into it.
 */
export async function startDocker(t: Test): Promise<DockerEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-docker-'))
  const socketPath = join(folder, 'docker.sock')
  const flags = ['--iptables=false', '--ip6tables=false', '--bridge=none', '--pidfile', join(folder, 'pid')]
  const place = ['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '-H', `unix://${socketPath}`]
  // The output goes to a file: nothing reads a pipe while a command below blocks, and a full pipe stops the engine.
  const log = join(folder, 'log')
  const written = openSync(log, 'w')
  const apart = ['--mount', '--propagation', 'private', '/bin/sh', '-c', IN_PRIVATE, 'dockerd']
  const engine = spawn('unshare', [...apart, ...flags, ...place], { stdio: ['ignore', 'ignore', written] })
  closeSync(written)
  // SIGTERM lets the engine stop its child processes.
  endWithParent(engine, { signal: 'TERM' })
  const ended = once(engine, 'exit')
  t.teardown(async () => {
    engine.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  // BuildKit is a separate program, which Debian's engine lacks.
  const env = { ...process.env, DOCKER_BUILDKIT: '0' }
  const docker = (...args: string[]) =>
    String(
      execFileSync('docker', ['-H', `unix://${socketPath}`, ...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: timeLimit(300),
        env,
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
  const mounts = () => readFileSync(`/proc/${engine.pid}/mounts`, 'utf8').split('\n')
  return { socketPath, image, readOnlyMounts: OF_THIS_MACHINE, docker, leftovers, mounts }
}

/**
 * Creates an image with a few of this machine's programs and their libraries. It replaces a slim Debian, which can't be
 * pulled without a registry.
 *
 * @param files absolute paths of programs and libraries
 */
export function importBase({ docker }: DockerEngine, t: Test, name: string, files: string[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-base-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const archive = emptyTree(folder, (tree) => {
    for (const file of new Set(files.flatMap((file) => [file, ...librariesOf(file)]))) {
      const place = join(tree, realpathSync(dirname(file)), basename(file))
      mkdirSync(dirname(place), { recursive: true })
      copyFileSync(realpathSync(file), place)
    }
    mkdirSync(join(tree, 'var/lib'), { recursive: true })
    symlinkSync('bash', join(tree, 'usr/bin/sh'))
  })
  docker('import', archive, name)
}

/** Returns the paths of a program's shared libraries, including the loader. */
export function librariesOf(file: string): string[] {
  const said = execFileSync('ldd', [file], { encoding: 'utf8' })
  return [...said.matchAll(/(\/\S+\.so\S*) \(0x/g)].map((match) => match[1] as string)
}

function emptyTree(folder: string, fill: (tree: string) => void = () => {}): string {
  const tree = join(folder, 'tree')
  for (const name of ['usr', 'etc/alternatives', 'tmp', 'job', 'proc', 'sys', 'dev', 'run'])
    mkdirSync(join(tree, name), { recursive: true })
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(tree, name))
  writeFileSync(join(tree, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n')
  writeFileSync(join(tree, 'etc/group'), 'root:x:0:\nnogroup:x:65534:\n')
  fill(tree)
  const file = join(folder, 'tree.tar')
  execFileSync('tar', ['-cf', file, '-C', tree, '.'])
  return file
}

import { constants, existsSync } from 'node:fs'
import { access, realpath } from 'node:fs/promises'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { env, getuid } from 'node:process'

export interface SandboxOptions {
  /** Absolute path of Blender, with links resolved. */
  blender: string
  memoryBytes: number
  diskBytes: number
  processes: number
  threads: number
}

/** The sandbox is not available here; the message names the missing part. */
export class SandboxMissing extends Error {}

/** Finds a program in the search path, as a shell does. @throws SandboxMissing */
export async function findProgram(name: string): Promise<string> {
  const candidates = isAbsolute(name) ? [name] : (env.PATH ?? '').split(delimiter).map((folder) => join(folder, name))
  for (const candidate of candidates) {
    try {
      await access(candidate, constants.X_OK)
      return await realpath(candidate)
    } catch {}
  }
  throw new SandboxMissing(`There is no program ${name} on this machine; install it, or set blender.command.`)
}

/**
 * The user ids of jobs when the server runs as root, one for each concurrent job. No other user has them, so a job can
 * access no other user's files, and the process limit counts only its own processes (root has no such limit).
 */
const FIRST_USER = 0x6a6f_0000

/** What every sandbox has, at the beginning of its arguments. `endLeftovers` recognizes sandboxes by it. */
export const ISOLATION: readonly string[] = [
  '--unshare-all',
  '--unshare-user',
  '--disable-userns',
  '--die-with-parent',
  '--new-session',
  '--cap-drop',
  'ALL',
  '--hostname',
  'blender',
]

/**
 * Returns the command line up to the program in the sandbox: separate namespaces for processes, network, users, IPC and
 * host name, and a root with read-only programs and libraries, a private /tmp and /job in memory, and nothing else.
 *
 * @param slot index of the job among the concurrent ones
 * @throws SandboxMissing
 */
export async function sandboxCommand(
  { blender, diskBytes }: SandboxOptions,
  slot: number,
): Promise<{
  command: string
  args: string[]
  spawn: { uid?: number; gid?: number; cwd: string; env: Record<string, string> }
}> {
  if (process.platform !== 'linux')
    throw new SandboxMissing(
      'Contained runs need Linux; use the docker driver, or blender.unsafe for your own scripts.',
    )
  const command = await findProgram('bwrap').catch(() => {
    throw new SandboxMissing('Contained runs need bubblewrap (`apt install bubblewrap`), which is not here.')
  })
  const user = getuid?.() === 0 ? { uid: FIRST_USER + slot, gid: FIRST_USER + slot } : {}
  const args = [
    ...ISOLATION,
    '--ro-bind',
    '/usr',
    '/usr',
    ...hidden(blender),
    ...['lib', 'lib64', 'bin', 'sbin'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]),
    ...['/etc/alternatives', '/etc/fonts', '/etc/ld.so.cache'].flatMap((path) => ['--ro-bind-try', path, path]),
    ...(blender.startsWith('/usr/') ? [] : ['--ro-bind', dirname(blender), dirname(blender)]),
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--size',
    '16777216',
    '--perms',
    '1777',
    '--tmpfs',
    '/dev/shm',
    '--size',
    String(Math.floor(diskBytes / 2)),
    '--perms',
    '1777',
    '--tmpfs',
    '/tmp',
    '--size',
    String(diskBytes),
    '--perms',
    '0755',
    '--tmpfs',
    '/job',
    '--remount-ro',
    '/dev',
    '--remount-ro',
    '/',
    '--clearenv',
    '--setenv',
    'PATH',
    '/usr/bin:/bin',
    '--setenv',
    'HOME',
    '/tmp',
    '--setenv',
    'LANG',
    'C.UTF-8',
    '--chdir',
    '/job',
    '--',
  ]
  return { command, args, spawn: { ...user, cwd: '/', env: {} } }
}

/** Folders below /usr that hold no system files. They are hidden unless Blender is in them. */
const hidden = (blender: string): string[] =>
  ['/usr/local', '/usr/src'].flatMap((folder) =>
    existsSync(folder) && !blender.startsWith(`${folder}/`) ? ['--tmpfs', folder, '--remount-ro', folder] : [],
  )

/** Sets the limits of each process in the sandbox; the server watches their total from outside. */
export const limitCommand = (
  { memoryBytes, processes, threads }: SandboxOptions,
  { artifactBytes, timeoutSeconds }: { artifactBytes: number; timeoutSeconds: number },
): string[] => [
  '/usr/bin/prlimit',
  `--nproc=${processes}`,
  `--data=${memoryBytes}`,
  // The extra bytes make it possible to detect an artifact that is too large.
  `--fsize=${artifactBytes + 4096}`,
  `--cpu=${timeoutSeconds * threads + 5}`,
  '--core=0',
  '--nofile=512',
  '--memlock=0',
  '--msgqueue=0',
  '--',
]

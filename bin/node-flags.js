/**
 * The Node flags of a server or worker, from source and as a binary.
 *
 * The young generation of the heap begins at 16 MB. V8's default begins at 1 MB and shrinks again when idle, so a
 * server under load collects garbage far more often, and each collection costs more the larger the program is
 * (bench/RESULTS.md, game origin). Unused pages take no memory: an idle server uses 2 MB more.
 */
export const NODE_FLAGS = ['--min-semi-space-size=16']

/**
 * The Node flags of `gameyard move`: the young generation stays at 1 MB. The command reads each row and blob once, so
 * little survives, and its memory is bounded (bin/move.ts).
 */
const LEAN_FLAGS = ['--max-semi-space-size=1']

/**
 * Settings of glibc's allocator, which it reads when a process begins. By default the allocator adapts to the first
 * password hash (19 MiB): from then on it keeps each freed piece of that size in one of eight arenas. A server that has
 * answered ten sign-ins then holds 75 MB of unused memory permanently (bench/RESULTS.md, memory). With these settings
 * pieces of a MiB and more return to the system at once, and threads share two arenas.
 */
const ALLOCATOR = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '1048576' }

/**
 * Returns the environment to start a server or worker with.
 *
 * @param {NodeJS.ProcessEnv} env variables that are set take precedence
 * @returns {Record<string, string> | null} null when nothing needs to change, or the settings have no effect
 */
export function allocatorEnvironment(env) {
  if (process.platform !== 'linux' || env.LD_PRELOAD || env.GLIBC_TUNABLES) return null
  if (Object.keys(env).some((name) => name.startsWith('MALLOC_'))) return null
  return { ...env, ...ALLOCATOR }
}

/**
 * @param {readonly string[]} argv as `process.argv`
 * @returns {string[] | null} the Node flags of a command that runs for a long time, which justifies a start that takes
 *   0.05 s longer; null for the others
 */
export function flagsOf(argv) {
  if (argv[2] === 'move') return LEAN_FLAGS
  return ['serve', 'worker'].includes(argv[2] ?? '') ? NODE_FLAGS : null
}

/**
 * How a server or worker has Node run it, from source and as a binary.
 *
 * New objects have 16 MB from the start, where V8 gives them 1 and takes back what it gave after an idle moment: a server
 * under load collects garbage far more often then, and each time costs the more the larger the program (bench/RESULTS.md,
 * game origin). What is not used takes no memory: an idle server has 2 MB more.
 */
export const NODE_FLAGS = ['--min-semi-space-size=16']

/**
 * How glibc's allocator keeps what was given back, which it reads when a process begins. Left alone it learns from the
 * first password (19 MiB to hash one) that such pieces come again, and from then on keeps each in one of eight arenas: a
 * server that has answered ten sign-ins holds 75 MB that nothing uses, for good (bench/RESULTS.md, memory). Pieces of
 * a MiB and more go back to the system at once, and threads share two arenas.
 */
const ALLOCATOR = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '1048576' }

/**
 * The environment to start a server or worker with.
 *
 * @param {NodeJS.ProcessEnv} env whoever sets some of it has the say
 * @returns {Record<string, string> | null} null where it is as it should be, or nothing depends on it
 */
export function allocatorEnvironment(env) {
  if (process.platform !== 'linux' || env.LD_PRELOAD || env.GLIBC_TUNABLES) return null
  if (Object.keys(env).some((name) => name.startsWith('MALLOC_'))) return null
  return { ...env, ...ALLOCATOR }
}

/**
 * @param {readonly string[]} argv as `process.argv`
 * @returns {boolean} whether this runs for long, so that a start of a twentieth of a second more is worth it
 */
export const serves = (argv) => ['serve', 'worker'].includes(argv[2] ?? '')

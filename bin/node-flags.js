/**
 * How a server or worker has Node run it, from source and as a binary.
 *
 * New objects have 16 MB from the start, where V8 gives them 1 and takes back what it gave after an idle moment: a server
 * under load collects garbage far more often then, and each time costs the more the larger the program (bench/RESULTS.md,
 * game origin). What is not used takes no memory: an idle server has 2 MB more.
 */
export const NODE_FLAGS = ['--min-semi-space-size=16']

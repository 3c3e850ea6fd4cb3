/**
 * How many times slower this machine computes than an idle one of the usual kind: 1 to 8. `npm test` measures it at its
 * start (build/test/slowness.ts). It is 1 for a file that runs by hand.
 */
const SLOWNESS = Number(process.env.TEST_SLOWNESS ?? 1)

/**
 * Returns the time after which a test gives up waiting for something that has to happen. It detects a hang. It is no
 * requirement of speed, so it is long, and longer on a slow machine. Every time limit of a test comes from here.
 *
 * @param seconds the limit on an idle machine
 * @returns milliseconds
 */
export const timeLimit = (seconds = 60): number => Math.ceil(seconds * 1000 * SLOWNESS)

/**
 * Returns how much processor time work may take on this machine, which grows with the machine's slowness too.
 *
 * @param ms the limit on a machine of the usual kind
 */
export const processorLimit = (ms: number): number => ms * SLOWNESS

import { randomInt } from 'node:crypto'
import { ALL } from './extent.ts'

/**
 * The seed of tests with random input. `npm test` repeats one sequence, so that a failure comes from a change. The long
 * form draws a new one. A test names it where it fails, and `GAMEYARD_SEED` repeats it.
 */
export const SEED = Number(process.env.GAMEYARD_SEED ?? (ALL ? randomInt(2 ** 31) : 20_261_125))

import type { Test } from 'tap'

/** Whether all tests run in their long form (`npm run test:all`; for one file, `TEST_EXTENT=all npx tap run FILE`). */
export const ALL = process.env.TEST_EXTENT === 'all'

/** Returns an amount: small in `npm test`, large in the long form. */
export const amount = (few: number, many: number): number => (ALL ? many : few)

/** Returns the test on which to register tests of the long form only: `inFull(t)?.test(name, …)`. */
export const inFull = (t: Test): Test | undefined => (ALL ? t : undefined)

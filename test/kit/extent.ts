import type { Test } from 'tap'

/** Whether everything runs in its long form (`npm run test:all`; for one file, `TEST_EXTENT=all npx tap run FILE`). */
export const ALL = process.env.TEST_EXTENT === 'all'

/** How many of something: few in `npm test`, many in the long form. */
export const amount = (few: number, many: number): number => (ALL ? many : few)

/** Where tests are registered that only the long form has: `inFull(t)?.test(name, …)`. */
export const inFull = (t: Test): Test | undefined => (ALL ? t : undefined)

/** What plugins outside of the program declare their tables with, and how they use up a row that counts once. */
export { defineEntity, p } from '@mikro-orm/core'
export { consumeOnce, markOnce, spendOnce } from './data/consume-once.ts'

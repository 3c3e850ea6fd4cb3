import { defineEntity, p } from '@mikro-orm/core'
import type { Category } from './schemas.ts'

const JamRowSchema = defineEntity({
  name: 'JamRow',
  tableName: 'jams',
  properties: {
    /** The greatest id is the current jam. Former jams are kept. */
    id: p.string().length(30).primary(),
    title: p.string().length(120),
    theme: p.string().length(200),
    categories: p.json().$type<Category[]>(),
    submissionsOpen: p.boolean(),
    votingOpen: p.boolean(),
    /** The announced end of submissions. It only marks later ones: the organiser closes submissions. */
    deadline: p.datetime(3).nullable(),
    /** The number of revealed steps of the results. */
    revealed: p.integer(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
})

export class JamRow extends JamRowSchema.class {}
JamRowSchema.setClass(JamRow)

/** A game that takes part. */
const JamEntryRowSchema = defineEntity({
  name: 'JamEntryRow',
  tableName: 'jam_entries',
  properties: {
    jamId: p.string().length(30).primary(),
    gameId: p.string().length(30).primary(),
    submittedAt: p.datetime(3),
  },
  indexes: [{ properties: ['gameId'] }],
})

export class JamEntryRow extends JamEntryRowSchema.class {}
JamEntryRowSchema.setClass(JamEntryRow)

/** One vote. The primary key allows a player one vote in each category, even under concurrency. */
const JamVoteRowSchema = defineEntity({
  name: 'JamVoteRow',
  tableName: 'jam_votes',
  properties: {
    jamId: p.string().length(30).primary(),
    categoryId: p.string().length(40).primary(),
    voterId: p.string().length(30).primary(),
    gameId: p.string().length(30).index(),
    castAt: p.datetime(3),
  },
  indexes: [{ properties: ['voterId'] }],
})

export class JamVoteRow extends JamVoteRowSchema.class {}
JamVoteRowSchema.setClass(JamVoteRow)

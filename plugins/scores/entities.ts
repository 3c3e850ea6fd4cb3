import { defineEntity, p } from '@mikro-orm/core'
import type { BoardFields } from './schemas.ts'

/** A board of a game. */
const ScoreBoardSchema = defineEntity({
  name: 'ScoreBoard',
  tableName: 'score_boards',
  properties: {
    /** The short key of the rows of this board. A board that is made again under the same id gets another key. */
    key: p.string().length(12).primary(),
    gameId: p.string().length(30),
    /** The id in addresses, unique within the game. */
    id: p.string().length(40),
    title: p.string().length(120),
    order: p.string().length(4).$type<BoardFields['order']>(),
    format: p.string().length(12).$type<BoardFields['format']>(),
    decimals: p.integer(),
    keep: p.string().length(4).$type<BoardFields['keep']>(),
    reset: p.string().length(7).$type<BoardFields['reset']>(),
    /** The bounds of a submitted score, as whole numbers of the smallest unit; see `toUnits`. */
    min: p.bigint().nullable(),
    max: p.bigint().nullable(),
    writers: p.string().length(7).$type<BoardFields['writers']>(),
    /** Grows with each change of the board or its scores. The update locks the row. */
    revision: p.integer(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
  uniques: [{ properties: ['gameId', 'id'] }],
})
export class ScoreBoard extends ScoreBoardSchema.class {}
ScoreBoardSchema.setClass(ScoreBoard)

/** The score of a player on a board in one period. */
const ScoreEntrySchema = defineEntity({
  name: 'ScoreEntry',
  tableName: 'score_entries',
  properties: {
    board: p.string().length(12).primary(),
    /** The number of the period; 0 is the ranking of all time. See periods.ts. */
    period: p.integer().primary(),
    playerId: p.string().length(30).primary(),
    /** A whole number of the smallest unit of the board. */
    score: p.bigint(),
    /** The score, negated on a board whose highest score is best, so that the best sorts first. Null while hidden. */
    sortKey: p.bigint().nullable(),
    /** JSON that the game sent with the score. */
    detail: p.text().nullable(),
    at: p.datetime(3),
  },
  indexes: [
    { properties: ['board', 'period', 'sortKey', 'at', 'playerId'] },
    { properties: ['playerId', 'board', 'period'] },
  ],
})
export class ScoreEntry extends ScoreEntrySchema.class {}
ScoreEntrySchema.setClass(ScoreEntry)

/** A node of the tree that counts the entries of a ranking; see ranks/tree.ts. */
const ScoreNodeSchema = defineEntity({
  name: 'ScoreNode',
  tableName: 'score_nodes',
  properties: {
    board: p.string().length(12).primary(),
    period: p.integer().primary(),
    /** 1: a leaf, which counts entries directly; 2: a group of leaves. */
    level: p.integer().primary(),
    /** The smallest sort key of the node's range, which ends before the next node of its level. */
    low: p.bigint().primary(),
    entries: p.integer(),
  },
})
export class ScoreNode extends ScoreNodeSchema.class {}
ScoreNodeSchema.setClass(ScoreNode)

/** The number of submissions to a board on one day (UTC). */
const ScoreDaySchema = defineEntity({
  name: 'ScoreDay',
  tableName: 'score_days',
  properties: {
    board: p.string().length(12).primary(),
    /** UTC date, such as `2026-11-21`. */
    date: p.string().length(10).primary(),
    submissions: p.integer(),
  },
  indexes: [{ properties: ['date'] }],
})
export class ScoreDay extends ScoreDaySchema.class {}
ScoreDaySchema.setClass(ScoreDay)

/** A submission that named itself, so that it counts once when it is sent again. */
const ScoreSubmissionSchema = defineEntity({
  name: 'ScoreSubmission',
  tableName: 'score_submissions',
  properties: {
    board: p.string().length(12).primary(),
    playerId: p.string().length(30).primary(),
    /** The id, which the client chose. */
    id: p.string().length(64).primary(),
    at: p.datetime(3),
  },
  indexes: [{ properties: ['playerId'] }, { properties: ['at'] }],
})
export class ScoreSubmission extends ScoreSubmissionSchema.class {}
ScoreSubmissionSchema.setClass(ScoreSubmission)

/** A player whom the owner keeps off a board. */
const ScoreExclusionSchema = defineEntity({
  name: 'ScoreExclusion',
  tableName: 'score_exclusions',
  properties: {
    board: p.string().length(12).primary(),
    playerId: p.string().length(30).primary(),
    at: p.datetime(3),
  },
  indexes: [{ properties: ['playerId'] }],
})
export class ScoreExclusion extends ScoreExclusionSchema.class {}
ScoreExclusionSchema.setClass(ScoreExclusion)

/** A removed board whose rows a job deletes in batches. */
const ScoreDeletionSchema = defineEntity({
  name: 'ScoreDeletion',
  tableName: 'score_deletions',
  properties: { board: p.string().length(12).primary() },
})
export class ScoreDeletion extends ScoreDeletionSchema.class {}
ScoreDeletionSchema.setClass(ScoreDeletion)

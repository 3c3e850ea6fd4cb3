import { defineEntity, p } from '@mikro-orm/core'

const GenerationRowSchema = defineEntity({
  name: 'GenerationRow',
  tableName: 'ai_generations',
  properties: {
    id: p.string().length(30).primary(),
    playerId: p.string().length(30).index(),
    /** The game to which it is attributed. */
    gameId: p.string().length(30).nullable(),
    type: p.string().length(10),
    model: p.string().length(200),
    credits: p.integer(),
    /** The day (UTC) of `createdAt`: `2026-11-21`. */
    date: p.string().length(10),
    createdAt: p.datetime(3),
  },
  indexes: [{ properties: ['gameId', 'date'] }],
})

/** A successful generation. It is written in the transaction that charges for it. */
export class GenerationRow extends GenerationRowSchema.class {}
GenerationRowSchema.setClass(GenerationRow)

const AiAllowanceSchema = defineEntity({
  name: 'AiAllowance',
  tableName: 'ai_allowances',
  properties: {
    playerId: p.string().length(30).primary(),
    gameId: p.string().length(30).primary().index(),
    /** The credits that pages of the game may spend in a day (UTC). */
    creditsPerDay: p.integer(),
    createdAt: p.datetime(3),
  },
})
/** The consent of a player: a hosted game may spend this many credits of theirs a day. */
export class AiAllowance extends AiAllowanceSchema.class {}
AiAllowanceSchema.setClass(AiAllowance)

const AiAllowanceUseSchema = defineEntity({
  name: 'AiAllowanceUse',
  tableName: 'ai_allowance_uses',
  properties: {
    /** The generation. */
    id: p.string().length(30).primary(),
    playerId: p.string().length(30),
    gameId: p.string().length(30).index(),
    /** The day (UTC) on which it began: `2026-11-26`. */
    date: p.string().length(10).index(),
    /** The highest price, and the actual price once that is known. */
    credits: p.integer(),
    /** The time by which an open generation has ended, or its process has died; null for a charged one. */
    expiresAt: p.datetime(3).nullable(),
  },
  indexes: [{ properties: ['playerId', 'gameId', 'date'] }],
})
/** A generation that counts towards the limit of its day. */
export class AiAllowanceUse extends AiAllowanceUseSchema.class {}
AiAllowanceUseSchema.setClass(AiAllowanceUse)

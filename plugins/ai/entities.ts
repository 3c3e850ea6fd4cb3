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

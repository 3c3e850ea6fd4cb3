import { defineEntity, p } from '@mikro-orm/core'

const GameErrorSchema = defineEntity({
  name: 'GameErrorRow',
  tableName: 'game_errors',
  properties: {
    id: p.string().length(30).primary(),
    gameId: p.string().length(30),
    /** The version, the place and the words of the error: what makes two occurrences the same error. */
    fingerprint: p.string().length(22),
    /** The deploy whose page threw; null: one before the version that was live then. */
    deployId: p.string().length(30).nullable(),
    message: p.string().length(500),
    /** A path in the build, or the address of a script elsewhere. */
    path: p.string().length(500).nullable(),
    /** Line and column count from 1. */
    line: p.integer().nullable(),
    columnNumber: p.integer().nullable(),
    stack: p.text().nullable(),
    /** Browser and system of the last occurrence: `Firefox on Windows`. */
    browser: p.string().length(40),
    count: p.integer(),
    firstAt: p.datetime(3),
    lastAt: p.datetime(3).index(),
  },
  indexes: [{ properties: ['gameId', 'lastAt'] }],
  uniques: [{ properties: ['gameId', 'fingerprint'] }],
})

/** An exception in the pages of a game, with the number of its occurrences. */
export class GameErrorRow extends GameErrorSchema.class {}
GameErrorSchema.setClass(GameErrorRow)

import { defineEntity, p } from '@mikro-orm/core'
import type { ScriptLogLine } from '../scripts/interface.ts'

/** The last lines that the room scripts of each game have logged. */
const RoomLogLineSchema = defineEntity({
  name: 'RoomLogLine',
  tableName: 'room_log_lines',
  properties: {
    /** Sorts by the time of writing, within a millisecond too. */
    id: p.string().length(30).primary(),
    gameId: p.string().length(30),
    at: p.datetime(3),
    level: p.string().length(5).$type<ScriptLogLine['level']>(),
    roomId: p.string().length(64),
    deployId: p.string().length(30),
    text: p.text(),
    /** The place in the source of an exception, counted from 1. */
    line: p.integer().nullable(),
    columnNumber: p.integer().nullable(),
    stack: p.text().nullable(),
  },
  indexes: [{ properties: ['gameId', 'id'] }],
})

export class RoomLogLine extends RoomLogLineSchema.class {}
RoomLogLineSchema.setClass(RoomLogLine)

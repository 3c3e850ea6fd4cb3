import { defineEntity, p } from '@mikro-orm/core'

/** Rooms as they were a moment ago, so that they outlive a restart. */
const RoomRecordSchema = defineEntity({
  name: 'RoomRecord',
  tableName: 'room_records',
  properties: {
    /** The game, its preview if any, and the name of the room, with slashes between. */
    id: p.string().length(200).primary(),
    gameId: p.string().length(30).index(),
    savedAt: p.datetime(3).index(),
    /** JSON of a `Snapshot`. */
    snapshot: p.text(),
  },
})

export class RoomRecord extends RoomRecordSchema.class {}
RoomRecordSchema.setClass(RoomRecord)

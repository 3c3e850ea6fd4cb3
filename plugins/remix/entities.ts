import { defineEntity, p } from '@mikro-orm/core'

const RemixSchema = defineEntity({
  name: 'RemixRow',
  tableName: 'game_remixes',
  properties: {
    /** The game that was made. */
    gameId: p.string().length(30).primary(),
    sourceGameId: p.string().length(30),
    /** The title of the source when it was copied, which nothing shows any more. */
    sourceTitle: p.string().length(120),
    /** The owner of the source when it was copied; null once the account is deleted. */
    sourceOwnerId: p.string().length(30).nullable().index(),
    createdAt: p.datetime(3),
  },
})

/** Where a game came from that was made from another one. */
export class RemixRow extends RemixSchema.class {}
RemixSchema.setClass(RemixRow)

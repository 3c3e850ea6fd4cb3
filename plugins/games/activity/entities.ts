import { defineEntity, p } from '@mikro-orm/core'
import type { Author } from '../../../core/observe/author.ts'

const GameActivitySchema = defineEntity({
  name: 'GameActivityRow',
  tableName: 'game_activity',
  properties: {
    id: p.string().length(30).primary(),
    gameId: p.string().length(30),
    /** Noun and verb: `deploy.rollback`. */
    action: p.string().length(40),
    /** The id of the deploy, board, picture, asset or job, or the name of the domain. */
    target: p.string().length(253).nullable(),
    detail: p.string().length(500).nullable(),
    authorKind: p.string().$type<Author['kind']>().length(10),
    playerId: p.string().length(30).nullable(),
    authorName: p.string().length(120).nullable(),
    tool: p.string().length(40).nullable(),
    at: p.datetime(3).index(),
  },
  indexes: [{ properties: ['gameId', 'id'] }, { properties: ['playerId', 'id'] }],
})

/** One change of a game. */
export class GameActivityRow extends GameActivitySchema.class {}
GameActivitySchema.setClass(GameActivityRow)

import { defineEntity, p } from '@mikro-orm/core'
import type { MemberRole } from './roles.ts'

/** A player who makes or tests a game of another player. The owner has no row: `games.owner_id` names them. */
const GameMemberSchema = defineEntity({
  name: 'GameMember',
  tableName: 'game_members',
  properties: {
    gameId: p.string().length(30).primary(),
    playerId: p.string().length(30).primary(),
    role: p.string().length(10).$type<MemberRole>(),
    /** Null for players who were invited before this table existed. */
    since: p.datetime(3).nullable(),
  },
  indexes: [{ properties: ['playerId', 'role', 'gameId'] }],
})

export class GameMember extends GameMemberSchema.class {}
GameMemberSchema.setClass(GameMember)

/** An invitation to become a member. Its key is derived from its id, so the row holds no secret. */
const GameInvitationSchema = defineEntity({
  name: 'GameInvitation',
  tableName: 'game_invitations',
  properties: {
    id: p.string().length(30).primary(),
    gameId: p.string().length(30).index(),
    role: p.string().length(10).$type<MemberRole>(),
    /** The only player who can accept it; null for a link. */
    playerId: p.string().length(30).nullable().index(),
    /** The address to which the link was sent; null for all others. */
    email: p.string().length(254).nullable(),
    /** Null for invitations of an earlier version of the program. */
    invitedBy: p.string().length(30).nullable().index(),
    /** How many players can still accept it. */
    usesLeft: p.integer(),
    createdAt: p.datetime(3),
    expiresAt: p.datetime(3).index(),
    revokedAt: p.datetime(3).nullable(),
    declinedAt: p.datetime(3).nullable(),
  },
})

export class GameInvitation extends GameInvitationSchema.class {}
GameInvitationSchema.setClass(GameInvitation)

/** An offer of a game to one of its makers. A game has at most one. */
const GameTransferSchema = defineEntity({
  name: 'GameTransfer',
  tableName: 'game_transfers',
  properties: {
    gameId: p.string().length(30).primary(),
    /** The owner who offers it. */
    fromId: p.string().length(30),
    /** The maker who can accept it. */
    toId: p.string().length(30).index(),
    /** The bytes that counted for the owner of the game when it was offered; null in rows of earlier versions. */
    storedBytes: p.bigint('number').nullable(),
    createdAt: p.datetime(3),
    expiresAt: p.datetime(3).index(),
  },
})

export class GameTransfer extends GameTransferSchema.class {}
GameTransferSchema.setClass(GameTransfer)

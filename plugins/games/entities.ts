import { defineEntity, p } from '@mikro-orm/core'
import type { StoredMedia } from './media/record.ts'
import type { GameSettings } from './schemas.ts'

/** Of a game that has something to play now and that nobody closed: a condition on a row of `games`. */
export const PLAYABLE = 'playable and suspended_at is null and (live_deploy_id is not null or external_url is not null)'

const listed = (name: string, columns: string) => ({
  name,
  expression: `create index ${name} on games (${columns}) where ${PLAYABLE}`,
})

const GameRowSchema = defineEntity({
  name: 'GameRow',
  tableName: 'games',
  properties: {
    id: p.string().length(30).primary(),
    ownerId: p.string().length(30),
    slug: p.string().length(63),
    title: p.string().length(120),
    description: p.text(),
    tags: p.json().$type<string[]>(),
    visibility: p.string().length(7).$type<'public' | 'private'>(),
    playable: p.boolean(),
    /** Where the game lives when it is not hosted here. */
    externalUrl: p.string().length(2000).nullable(),
    clientId: p.string().length(64),
    liveDeployId: p.string().length(30).nullable(),
    /** Its own port, where games have ports instead of names (`games.origins: port`). */
    port: p.integer().nullable().unique(),
    settings: p.json().$type<GameSettings>(),
    media: p.json().$type<StoredMedia[]>(),
    /** The picture that its owner chose for its card; without one, the first. */
    coverId: p.string().length(30).nullable(),
    /** Players whom the owner of a private game let in. */
    invited: p.json().$type<string[]>(),
    /** The last part of the invitation link; null while there is none. */
    inviteKey: p.string().length(22).nullable(),
    plays: p.integer(),
    signIns: p.integer(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    deletedAt: p.datetime(3).nullable(),
    /** Since when nobody can play it, by whoever looks after the server, and why; see `Suspensions`. */
    suspendedAt: p.datetime(3).nullable(),
    suspensionReason: p.string().length(1000).nullable(),
    /** What its owner answered. */
    appeal: p.string().length(2000).nullable(),
  },
  // Each list consists of games that are not deleted (or of those that are), in the order of ids or plays. An index on
  // all of these columns reads only the rows of one page, however many games there are.
  indexes: [
    { properties: ['deletedAt', 'id'] },
    { properties: ['ownerId', 'deletedAt', 'id'] },
    { properties: ['visibility', 'deletedAt', 'id'] },
    { properties: ['visibility', 'deletedAt', 'plays', 'id'] },
    { properties: ['slug', 'deletedAt', 'id'] },
    // The catalog's: only games that can be played are in them. A list that had to pass over the others would read the
    // longer, the more of them there are. Statements must have the condition in these words (`PLAYABLE`).
    listed('games_listed_id_index', 'visibility, deleted_at, id'),
    listed('games_listed_plays_index', 'visibility, deleted_at, plays, id'),
  ],
})

export class GameRow extends GameRowSchema.class {}
GameRowSchema.setClass(GameRow)

/**
 * The holder of a slug, or the holder until `freedAt`. The primary key decides between two games that want the same
 * slug, and the row of a freed slug reserves it.
 */
const GameSlugSchema = defineEntity({
  name: 'GameSlug',
  tableName: 'game_slugs',
  properties: {
    slug: p.string().length(63).primary(),
    gameId: p.string().length(30).index(),
    freedAt: p.datetime(3).nullable(),
  },
})

export class GameSlug extends GameSlugSchema.class {}
GameSlugSchema.setClass(GameSlug)

/** The search terms of a game: every beginning of every word of its title, and its tags as `#tag`. */
const GameTermSchema = defineEntity({
  name: 'GameTerm',
  tableName: 'game_terms',
  properties: {
    term: p.string().length(31).primary(),
    gameId: p.string().length(30).primary(),
    /** One of its tags, whole; those are listed by how many games have them. */
    isTag: p.boolean(),
  },
  indexes: [{ properties: ['gameId'] }, { properties: ['isTag', 'term'] }],
})

export class GameTerm extends GameTermSchema.class {}
GameTermSchema.setClass(GameTerm)

/** The statistics of a game on a day (UTC). */
const GameDaySchema = defineEntity({
  name: 'GameDay',
  tableName: 'game_days',
  properties: {
    gameId: p.string().length(30).primary(),
    /** `2026-11-21`. */
    date: p.string().length(10).primary(),
    plays: p.integer(),
    uniquePlayers: p.integer(),
    signIns: p.integer(),
    peakPlayers: p.integer(),
  },
})

export class GameDay extends GameDaySchema.class {}
GameDaySchema.setClass(GameDay)

/** The visitors of a day, as hashes that can't be reversed; the rows are deleted after the day. */
const GameVisitorSchema = defineEntity({
  name: 'GameVisitor',
  tableName: 'game_visitors',
  properties: {
    date: p.string().length(10).primary(),
    gameId: p.string().length(30).primary(),
    visitor: p.string().length(22).primary(),
  },
})

export class GameVisitor extends GameVisitorSchema.class {}
GameVisitorSchema.setClass(GameVisitor)

/** How many players each node had in a game lately: the peak of a day is of their sum. */
const GamePresenceSchema = defineEntity({
  name: 'GamePresence',
  tableName: 'game_presence',
  properties: {
    gameId: p.string().length(30).primary(),
    node: p.string().length(16).primary(),
    players: p.integer(),
    seenAt: p.datetime(3),
  },
})

export class GamePresence extends GamePresenceSchema.class {}
GamePresenceSchema.setClass(GamePresence)

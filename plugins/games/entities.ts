import { defineEntity, p } from '@mikro-orm/core'
import type { SuspensionCause } from '../../core/data/staff/suspensions.ts'
import type { GameFeatures } from './features/schemas.ts'
import type { StoredMedia } from './media/record.ts'
import type { GameSettings } from './schemas.ts'

/** The condition for a playable game that is not suspended, on a row of `games`. */
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
    /** The address of an external game; null for a hosted one. */
    externalUrl: p.string().length(2000).nullable(),
    clientId: p.string().length(64),
    liveDeployId: p.string().length(30).nullable(),
    /** Whether a `.wasm` of the live deploy imports or defines shared memory. */
    liveSharedMemory: p.boolean().default(false),
    /** Its own port, if games have ports instead of names (`games.origins: port`). */
    port: p.integer().nullable().unique(),
    settings: p.json().$type<GameSettings>(),
    /** What players filter by; null in rows of the time before. */
    features: p.json().$type<GameFeatures>().nullable(),
    media: p.json().$type<StoredMedia[]>(),
    /** The picture that the owner chose for its card. The default is the first. */
    coverId: p.string().length(30).nullable(),
    /** Players whom the owner of a private game has admitted. */
    invited: p.json().$type<string[]>(),
    /** The last part of the invitation link; null when there is none. */
    inviteKey: p.string().length(22).nullable(),
    plays: p.integer(),
    signIns: p.integer(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    deletedAt: p.datetime(3).nullable(),
    /** Set when the owner deleted it for good: its data is gone, and the row follows; see `GameDeletion`. */
    erasedAt: p.datetime(3).nullable(),
    /** The time and reason of a suspension by administrators or moderators; see `Suspensions`. */
    suspendedAt: p.datetime(3).nullable(),
    suspensionReason: p.string().length(1000).nullable(),
    suspensionCause: p.string().length(30).nullable().$type<SuspensionCause | null>(),
    suspendedWithAccount: p.boolean().nullable(),
    /** The owner's answer to the suspension. */
    appeal: p.string().length(2000).nullable(),
    /** Set while the game is held for staff, who may have refused it; see `Approvals`. */
    approval: p.string().length(10).nullable().$type<'waiting' | 'refused' | null>(),
    approvalReason: p.string().length(1000).nullable(),
    /** The visibility that the owner of a held game wants. Its `visibility` is `private`. */
    requestedVisibility: p.string().length(7).nullable().$type<'public' | 'private' | null>(),
  },
  // Each list consists of games that are not deleted (or of those that are), in the order of ids or plays. An index on
  // all of these columns reads only the rows of one page, however many games there are.
  indexes: [
    { properties: ['deletedAt', 'id'] },
    { properties: ['ownerId', 'deletedAt', 'id'] },
    { properties: ['visibility', 'deletedAt', 'id'] },
    { properties: ['visibility', 'deletedAt', 'plays', 'id'] },
    { properties: ['slug', 'deletedAt', 'id'] },
    { properties: ['clientId'] },
    // The catalog's indexes contain only playable games. A list that skips other games would take longer the more of
    // them there are. Statements must contain the condition in these exact words (`PLAYABLE`).
    listed('games_listed_id_index', 'visibility, deleted_at, id'),
    listed('games_listed_plays_index', 'visibility, deleted_at, plays, id'),
    {
      name: 'games_erased_at_index',
      expression: 'create index games_erased_at_index on games (erased_at) where erased_at is not null',
    },
    {
      name: 'games_approval_index',
      expression: 'create index games_approval_index on games (approval, id) where approval is not null',
    },
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
    /** The player whose former or deleted game it belonged to; null while a game has it. */
    freedBy: p.string().length(30).nullable(),
  },
  indexes: [{ properties: ['freedBy', 'freedAt'] }],
})

export class GameSlug extends GameSlugSchema.class {}
GameSlugSchema.setClass(GameSlug)

/** The search terms of a game: every prefix of every word of its title, and its tags as `#tag`. */
const GameTermSchema = defineEntity({
  name: 'GameTerm',
  tableName: 'game_terms',
  properties: {
    term: p.string().length(31).primary(),
    gameId: p.string().length(30).primary(),
    /** Whether the term is a complete tag. Tags are listed by their number of games. */
    isTag: p.boolean(),
  },
  indexes: [{ properties: ['gameId'] }, { properties: ['isTag', 'term'] }],
})

export class GameTerm extends GameTermSchema.class {}
GameTermSchema.setClass(GameTerm)

/** The values of a game's features, by which the catalog is filtered. */
const GameFeatureSchema = defineEntity({
  name: 'GameFeature',
  tableName: 'game_features',
  properties: {
    /** A parameter of the catalog's query, such as `input`. */
    field: p.string().length(20).primary(),
    value: p.string().length(24).primary(),
    gameId: p.string().length(30).primary(),
  },
  indexes: [{ properties: ['gameId'] }],
})

export class GameFeature extends GameFeatureSchema.class {}
GameFeatureSchema.setClass(GameFeature)

/** The statistics of a game on one day (UTC). */
const GameDaySchema = defineEntity({
  name: 'GameDay',
  tableName: 'game_days',
  properties: {
    gameId: p.string().length(30).primary(),
    /** UTC date, such as `2026-11-21`. */
    date: p.string().length(10).primary(),
    plays: p.integer(),
    uniquePlayers: p.integer(),
    signIns: p.integer(),
    peakPlayers: p.integer(),
  },
})

export class GameDay extends GameDaySchema.class {}
GameDaySchema.setClass(GameDay)

/** The visitors of a day, as hashes that can't be reversed. The rows are deleted after the day. */
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

/** The recent number of players in a game on each node. The peak of a day is computed from the sum. */
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

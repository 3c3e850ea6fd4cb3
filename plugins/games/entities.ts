import { defineEntity, p } from '@mikro-orm/core'
import type { GameSettings } from './schemas.ts'

const GameRowSchema = defineEntity({
  name: 'GameRow',
  tableName: 'games',
  properties: {
    id: p.string().length(30).primary(),
    ownerId: p.string().length(30),
    slug: p.string().length(63).index(),
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
    plays: p.integer(),
    signIns: p.integer(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    deletedAt: p.datetime(3).nullable(),
  },
  indexes: [
    { properties: ['ownerId', 'id'] },
    { properties: ['visibility', 'id'] },
    { properties: ['visibility', 'plays', 'id'] },
  ],
})

export class GameRow extends GameRowSchema.class {}
GameRowSchema.setClass(GameRow)

/**
 * Who holds a slug, or held it until `freedAt`: the primary key decides between two that want the same, and the row of
 * a freed slug keeps it away from others while it rests.
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

/** What a game is found by: every beginning of every word of its title, and its tags as `#tag`. */
const GameTermSchema = defineEntity({
  name: 'GameTerm',
  tableName: 'game_terms',
  properties: {
    term: p.string().length(31).primary(),
    gameId: p.string().length(30).primary(),
  },
  indexes: [{ properties: ['gameId'] }],
})

export class GameTerm extends GameTermSchema.class {}
GameTermSchema.setClass(GameTerm)

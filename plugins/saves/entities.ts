import { defineEntity, p } from '@mikro-orm/core'

/** The sums of a player's saves in one game. Every change of a save holds this row until it commits. */
const SaveUsageSchema = defineEntity({
  name: 'SaveUsage',
  tableName: 'save_usage',
  properties: {
    playerId: p.string().length(30).primary(),
    gameId: p.string().length(30).primary(),
    /** The number of keys with a value. */
    keys: p.integer(),
    /** The bytes of the current values. */
    bytes: p.bigint('number'),
    /** The bytes of all kept versions, the current values included. */
    keptBytes: p.bigint('number'),
    /** The part of `keptBytes` that counts in the quota of the game's owner already. */
    countedBytes: p.bigint('number'),
    /** False when `keptBytes` has changed since it was counted. */
    counted: p.boolean(),
    /** No key without a row gets this version or an earlier one. */
    versionFloor: p.integer(),
  },
  indexes: [
    { properties: ['gameId'] },
    {
      name: 'save_usage_uncounted_index',
      expression: 'create index save_usage_uncounted_index on save_usage (counted) where not counted',
    },
  ],
})

export class SaveUsage extends SaveUsageSchema.class {}
SaveUsageSchema.setClass(SaveUsage)

/** The sum of `countedBytes` of all players of a game, changed by the transactions that change these. */
const SaveTotalSchema = defineEntity({
  name: 'SaveTotal',
  tableName: 'save_totals',
  properties: {
    gameId: p.string().length(30).primary(),
    countedBytes: p.bigint('number'),
  },
})

export class SaveTotal extends SaveTotalSchema.class {}
SaveTotalSchema.setClass(SaveTotal)

/** The current state of each key. A deleted key keeps its row while earlier versions can be restored. */
const SaveRowSchema = defineEntity({
  name: 'SaveRow',
  tableName: 'saves',
  properties: {
    gameId: p.string().length(30).primary(),
    playerId: p.string().length(30).primary(),
    key: p.string().length(64).primary(),
    /** The version of the value; of a deleted key, the version of its last value. */
    version: p.integer(),
    size: p.integer(),
    contentType: p.string().length(255),
    updatedAt: p.datetime(3),
    deletedAt: p.datetime(3).nullable(),
    /** The time at which the oldest earlier version is due for removal; null without earlier versions. */
    historyDueAt: p.datetime(3).nullable(),
  },
  indexes: [
    {
      name: 'saves_history_due_at_index',
      expression: 'create index saves_history_due_at_index on saves (history_due_at) where history_due_at is not null',
    },
  ],
})

export class SaveRow extends SaveRowSchema.class {}
SaveRowSchema.setClass(SaveRow)

/** The value of each kept version, the current one included. Rows are inserted and deleted, and never updated. */
const SaveVersionSchema = defineEntity({
  name: 'SaveVersion',
  tableName: 'save_versions',
  properties: {
    gameId: p.string().length(30).primary(),
    playerId: p.string().length(30).primary(),
    key: p.string().length(64).primary(),
    version: p.integer().primary(),
    size: p.integer(),
    contentType: p.string().length(255),
    createdAt: p.datetime(3),
    /** 1: a change that was not made from this version has replaced it, so it is kept for longer. */
    unread: p.integer().default(0),
    /** The digest of a value in the storage; null for a value in this row. */
    sha256: p.string().length(64).nullable(),
    value: p.blob().nullable(),
  },
  indexes: [
    {
      name: 'save_versions_sha256_index',
      expression: 'create index save_versions_sha256_index on save_versions (sha256) where sha256 is not null',
    },
  ],
})

export class SaveVersion extends SaveVersionSchema.class {}
SaveVersionSchema.setClass(SaveVersion)

/**
 * Every existing or expected blob of a large value. The row is inserted before the bytes are stored and deleted after
 * them, so no bytes are ever without a row.
 */
const SaveBlobSchema = defineEntity({
  name: 'SaveBlob',
  tableName: 'save_blobs',
  properties: {
    sha256: p.string().length(64).primary(),
    /** The time at which a value with this digest was last announced. */
    usedAt: p.datetime(3),
    /** Set while the blob is being removed. No save may start to use it. */
    condemnedAt: p.datetime(3).nullable(),
    /** The number of changes under way that will refer to it. A crash leaves it too high, and garbage collection ignores it. */
    pending: p.integer().default(0),
  },
})

export class SaveBlob extends SaveBlobSchema.class {}
SaveBlobSchema.setClass(SaveBlob)

import { defineEntity, p } from '@mikro-orm/core'
import type { LimitOverrides } from './schemas.ts'

/** One row for each player: the lock for all changes of their counts, and the uploads of a day. */
const QuotaAccountSchema = defineEntity({
  name: 'QuotaAccount',
  tableName: 'quota_accounts',
  properties: {
    ownerId: p.string().length(30).primary(),
    /** Grows with every change. A recount that finds another number has read inconsistent data, and starts again. */
    changes: p.bigint('number'),
    /** The day (UTC) of `uploadBytes`, such as `2026-11-23`. */
    uploadDay: p.string().length(10),
    uploadBytes: p.bigint('number'),
  },
})

export class QuotaAccount extends QuotaAccountSchema.class {}
QuotaAccountSchema.setClass(QuotaAccount)

/** The stored bytes of a player, by kind (`deploys`, `assets`, …). */
const StoredBytesSchema = defineEntity({
  name: 'StoredBytes',
  tableName: 'quota_stored_bytes',
  properties: {
    ownerId: p.string().length(30).primary(),
    kind: p.string().length(20).primary(),
    bytes: p.bigint('number'),
  },
})

export class StoredBytes extends StoredBytesSchema.class {}
StoredBytesSchema.setClass(StoredBytes)

/**
 * Bytes that several things of a player share, such as a file in twenty deploys of a game. They count once while any of
 * these exists. The size is part of the key, since an announced size may be false: each pair of digest and size counts
 * separately, so that a false size can't hide a large file.
 */
const SharedBlobSchema = defineEntity({
  name: 'SharedBlob',
  tableName: 'quota_shared_blobs',
  properties: {
    ownerId: p.string().length(30).primary(),
    kind: p.string().length(20).primary(),
    sha256: p.string().length(64).primary(),
    bytes: p.bigint('number').primary(),
    /** The number of things that contain it; never 0. */
    refs: p.integer(),
  },
})

export class SharedBlob extends SharedBlobSchema.class {}
SharedBlobSchema.setClass(SharedBlob)

/** The limits that an administrator set for a player instead of the configuration. */
const QuotaOverrideSchema = defineEntity({
  name: 'QuotaOverride',
  tableName: 'quota_overrides',
  properties: {
    ownerId: p.string().length(30).primary(),
    limits: p.json().$type<LimitOverrides>(),
    updatedAt: p.datetime(3),
  },
})

export class QuotaOverride extends QuotaOverrideSchema.class {}
QuotaOverrideSchema.setClass(QuotaOverride)

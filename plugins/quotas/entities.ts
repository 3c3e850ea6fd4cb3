import { defineEntity, p } from '@mikro-orm/core'
import type { LimitOverrides } from './schemas.ts'

/** One row a player: the lock that everything which changes their counts holds, and the uploads of a day. */
const QuotaAccountSchema = defineEntity({
  name: 'QuotaAccount',
  tableName: 'quota_accounts',
  properties: {
    ownerId: p.string().length(30).primary(),
    /** Grows with every change: a recount that finds another number read what was changing, and begins anew. */
    changes: p.bigint('number'),
    /** The day (UTC) that `uploadBytes` are of, such as `2026-11-23`. */
    uploadDay: p.string().length(10),
    uploadBytes: p.bigint('number'),
  },
})

export class QuotaAccount extends QuotaAccountSchema.class {}
QuotaAccountSchema.setClass(QuotaAccount)

/** The bytes kept for a player, by kind (`deploys`, `assets`, …). */
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
 * Bytes that several things of a player share, such as a file that twenty deploys of a game have: they count once, for
 * as long as one of those is there. The size is part of the key, since an announced one may be untrue: each pair of
 * digest and size counts for itself, so that a small lie does not hide a large file.
 */
const SharedBlobSchema = defineEntity({
  name: 'SharedBlob',
  tableName: 'quota_shared_blobs',
  properties: {
    ownerId: p.string().length(30).primary(),
    kind: p.string().length(20).primary(),
    sha256: p.string().length(64).primary(),
    bytes: p.bigint('number').primary(),
    /** How many things have it; never 0. */
    refs: p.integer(),
  },
})

export class SharedBlob extends SharedBlobSchema.class {}
SharedBlobSchema.setClass(SharedBlob)

/** What an administrator allows a player instead of the numbers of the configuration. */
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

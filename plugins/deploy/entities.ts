import { defineEntity, p } from '@mikro-orm/core'
import type { Build } from './builds/examine.ts'
import type { DeployState } from './schemas.ts'
import type { FoundSecret } from './secrets/secret-scanner.ts'

const DeployRowSchema = defineEntity({
  name: 'DeployRow',
  tableName: 'deploys',
  properties: {
    id: p.string().length(30).primary(),
    gameId: p.string().length(30),
    /** The owner of the game, for whom its bytes count. */
    ownerId: p.string().length(30),
    /** Who made it; null: the owner, as before games had several makers. */
    playerId: p.string().length(30).nullable(),
    state: p.string().length(10).$type<DeployState>(),
    message: p.string().length(500).nullable(),
    /** The reason of the failure, as text for users. */
    failure: p.string().length(500).nullable(),
    fileCount: p.integer(),
    /** The number of files that did not have to be uploaded again. */
    unchangedCount: p.integer(),
    totalBytes: p.bigint('number'),
    createdAt: p.datetime(3),
    /** The time at which uploads end. */
    expiresAt: p.datetime(3),
    /** The time at which it last went live. */
    liveAt: p.datetime(3).nullable(),
    /** A pinned deploy is kept until its owner unpins it. */
    pinned: p.boolean().default(false),
    /** The path of the room script; null in a build without one. */
    roomPath: p.string().length(512).nullable(),
    /** What the platform found in its build; null until it is examined, at the latest when it goes live. */
    build: p.json().$type<Build>().nullable(),
    /** The secrets of this platform that its uploads hold; null for none. */
    secrets: p.json().$type<FoundSecret[]>().nullable(),
    /** The deploy that was live when this one began; null for none, and in rows of earlier versions. */
    baseId: p.string().length(30).nullable(),
    /** The deploy that went live between the begin and the finalization of this one; null for none. */
    overtakenById: p.string().length(30).nullable(),
    /** The deploy that took its place when it was last live; null in a live one, and in rows of earlier versions. */
    replacedById: p.string().length(30).nullable(),
    /** Who put that deploy live. */
    replacedByPlayerId: p.string().length(30).nullable(),
    replacedAt: p.datetime(3).nullable(),
  },
  indexes: [
    { properties: ['gameId', 'id'] },
    { properties: ['ownerId', 'id'] },
    { properties: ['state', 'expiresAt'] },
    { properties: ['playerId', 'id'] },
    {
      name: 'deploys_open_index',
      expression:
        "create index deploys_open_index on deploys (owner_id, id) where state in ('uploading', 'finalizing')",
    },
  ],
})

export class DeployRow extends DeployRowSchema.class {}
DeployRowSchema.setClass(DeployRow)

/** Returns who brings the files of a deploy. */
export const uploaderOf = ({ ownerId, playerId, gameId }: Pick<DeployRow, 'ownerId' | 'playerId' | 'gameId'>) => ({
  playerId: playerId ?? ownerId,
  gameId,
})

/**
 * The files of a deploy, in one row (`manifest/stored-manifest.ts`): `[path, sha256, size, contentType?]` each. Its bytes
 * count for the owner of the deploy. A deploy that failed or expired has none.
 *
 * A manifest is written once, never changed and always read whole, so a row a file would have no benefit: it would cost
 * 20,000 inserts in SQLite's only write transaction, and as many reads each time a game's cache is filled. The manifest
 * has a table of its own, so that a change of state does not rewrite megabytes.
 */
const ManifestRowSchema = defineEntity({
  name: 'ManifestRow',
  tableName: 'deploy_manifests',
  properties: {
    deployId: p.string().length(30).primary(),
    files: p.text(),
  },
})

export class ManifestRow extends ManifestRowSchema.class {}
ManifestRowSchema.setClass(ManifestRow)

/** The names that carry a digest by their form, and have had several contents at the address of a game. */
const ChangedNameSchema = defineEntity({
  name: 'ChangedName',
  tableName: 'deploy_changed_names',
  properties: {
    gameId: p.string().length(30).primary(),
    path: p.string().length(512).primary(),
  },
})

export class ChangedName extends ChangedNameSchema.class {}
ChangedNameSchema.setClass(ChangedName)

/**
 * Every existing or expected blob. The row is inserted before the bytes are stored and deleted after them, so no bytes
 * are ever without a row, and garbage collection need not list the storage.
 */
const BlobRowSchema = defineEntity({
  name: 'BlobRow',
  tableName: 'blobs',
  properties: {
    sha256: p.string().length(64).primary(),
    /** The time at which a deploy last named it. A blob that was named within a day is never garbage. */
    usedAt: p.datetime(3).index(),
    /** Set while the blob is being removed. No deploy may start to use it. */
    condemnedAt: p.datetime(3).nullable().index(),
  },
})

export class BlobRow extends BlobRowSchema.class {}
BlobRowSchema.setClass(BlobRow)

/** The blobs that each player has proved to have, by a finalized deploy. */
const OwnerBlobSchema = defineEntity({
  name: 'OwnerBlob',
  tableName: 'owner_blobs',
  properties: {
    ownerId: p.string().length(30).primary(),
    sha256: p.string().length(64).primary(),
  },
  indexes: [{ properties: ['sha256'] }],
})

export class OwnerBlob extends OwnerBlobSchema.class {}
OwnerBlobSchema.setClass(OwnerBlob)

/** Uploads of a deploy that is not finalized yet. They count for that deploy only. */
const DeployUploadSchema = defineEntity({
  name: 'DeployUpload',
  tableName: 'deploy_uploads',
  properties: {
    deployId: p.string().length(30).primary(),
    sha256: p.string().length(64).primary(),
  },
})

export class DeployUpload extends DeployUploadSchema.class {}
DeployUploadSchema.setClass(DeployUpload)

/**
 * The compressed forms of a blob, which are blobs themselves. A row without a digest records that this coding does not
 * make the bytes smaller, so that it is not tried again. While a row names a variant, the variant's bytes exist.
 */
const BlobVariantSchema = defineEntity({
  name: 'BlobVariant',
  tableName: 'blob_variants',
  properties: {
    sha256: p.string().length(64).primary(),
    coding: p.string().length(4).$type<'br' | 'gzip'>().primary(),
    variantSha256: p.string().length(64).nullable().index(),
    /** The size of the variant in bytes. */
    size: p.integer(),
  },
})

export class BlobVariant extends BlobVariantSchema.class {}
BlobVariantSchema.setClass(BlobVariant)

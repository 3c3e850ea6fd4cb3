import { defineEntity, p } from '@mikro-orm/core'
import type { SuspensionCause } from '../../core/data/staff/suspensions.ts'
import type { StoredFile } from './record.ts'
import type { AssetSource, Kind, LodChoice, LodReason, Visibility } from './schemas.ts'

const AssetRowSchema = defineEntity({
  name: 'AssetRow',
  tableName: 'assets',
  properties: {
    id: p.string().length(30).primary(),
    ownerId: p.string().length(30),
    /** The game to which it belongs, whose makers read and change it. */
    gameId: p.string().length(30).nullable(),
    slug: p.string().length(63).unique(),
    title: p.string().length(120),
    description: p.text(),
    kind: p.string().length(9).$type<Kind>(),
    visibility: p.string().length(7).$type<Visibility>(),
    curated: p.boolean(),
    /** Who made it, if that is not its owner. */
    author: p.string().length(200).nullable(),
    license: p.string().length(100).nullable(),
    tags: p.json().$type<string[]>(),
    /** The uploaded file, or the files of a pack in the order of their paths. They never change. */
    files: p.json().$type<StoredFile[]>(),
    /** The number of these files, and their bytes together. Null in rows from before these columns. */
    fileCount: p.integer().nullable(),
    fileBytes: p.bigint('number').nullable(),
    /** Size in bytes; for a pack, of the ZIP that is served. */
    size: p.bigint('number'),
    triangles: p.integer().nullable(),
    rigged: p.boolean(),
    /** Whether the clips of the presets fit its rig. */
    humanoid: p.boolean(),
    animations: p.json().$type<string[]>(),
    /** Digest, size and triangles of the simplified form; all null while it is pending or if there is none. */
    lodSha256: p.string().length(64).nullable(),
    lodSize: p.integer().nullable(),
    lodTriangles: p.integer().nullable(),
    /** The reason why a model has no simplified form. */
    lodReason: p.string().length(20).$type<LodReason>().nullable(),
    /** Whether the default address may serve the simplified form. Null means `auto`. */
    lodChoice: p.string().length(4).$type<LodChoice>().nullable(),
    /** The program version that created the derived files; null before the preparation and for old assets. */
    preparedBy: p.integer().nullable(),
    /** Digest of the rendered picture. Null shows a generated one. */
    thumbnailSha256: p.string().length(64).nullable(),
    sourceKind: p.string().length(10).$type<AssetSource['kind']>(),
    /** The job whose output it is. An output is stored once. */
    sourceJobId: p.string().length(30).nullable().unique(),
    /** Only moderators and administrators set and lift it. The owner may answer once. */
    suspendedAt: p.datetime(3).nullable(),
    suspensionReason: p.string().length(1000).nullable(),
    suspensionCause: p.string().length(30).nullable().$type<SuspensionCause | null>(),
    suspendedWithAccount: p.boolean().nullable(),
    appeal: p.string().length(2000).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
  indexes: [
    { properties: ['ownerId', 'id'] },
    { properties: ['gameId', 'id'] },
    { properties: ['visibility', 'id'] },
    { properties: ['visibility', 'kind', 'id'] },
  ],
})

export class AssetRow extends AssetRowSchema.class {}
AssetRowSchema.setClass(AssetRow)

/** The search terms of an asset: every prefix of every word of its title, and its tags as `#tag`. */
const AssetTermSchema = defineEntity({
  name: 'AssetTerm',
  tableName: 'asset_terms',
  properties: {
    term: p.string().length(31).primary(),
    assetId: p.string().length(30).primary(),
    isTag: p.boolean(),
  },
  indexes: [{ properties: ['assetId'] }, { properties: ['isTag', 'term'] }],
})

export class AssetTerm extends AssetTermSchema.class {}
AssetTermSchema.setClass(AssetTerm)

/** The licenses under which an asset may be used, in lower case: of `MIT OR CC0-1.0` both. */
const AssetLicenseSchema = defineEntity({
  name: 'AssetLicense',
  tableName: 'asset_licenses',
  properties: {
    license: p.string().length(100).primary(),
    assetId: p.string().length(30).primary(),
  },
  indexes: [{ properties: ['assetId'] }],
})

export class AssetLicense extends AssetLicenseSchema.class {}
AssetLicenseSchema.setClass(AssetLicense)

/**
 * The slug of an asset that was public, or of a renamed one. No other owner's file may appear under an address that
 * games have hot-linked.
 */
const FormerAssetSlugSchema = defineEntity({
  name: 'FormerAssetSlug',
  tableName: 'former_asset_slugs',
  properties: {
    slug: p.string().length(63).primary(),
    assetId: p.string().length(30),
    ownerId: p.string().length(30),
    /** Null in rows from before this column. */
    freedAt: p.datetime(3).nullable(),
  },
  indexes: [{ properties: ['ownerId', 'freedAt'] }],
})

export class FormerAssetSlug extends FormerAssetSlugSchema.class {}
FormerAssetSlugSchema.setClass(FormerAssetSlug)

/** The clip of a preset that was created for a model, by asset. */
const AssetClipSchema = defineEntity({
  name: 'AssetClip',
  tableName: 'asset_clips',
  properties: {
    assetId: p.string().length(30).primary(),
    /** `walk@3`: the preset and the version of the program that created it. */
    preset: p.string().length(20).primary(),
    sha256: p.string().length(64),
    size: p.integer(),
  },
})

export class AssetClip extends AssetClipSchema.class {}
AssetClipSchema.setClass(AssetClip)

/** A clip of another asset that was applied to a model. It remains when that asset is deleted. */
const AppliedClipSchema = defineEntity({
  name: 'AppliedClip',
  tableName: 'asset_applied_clips',
  properties: {
    assetId: p.string().length(30).primary(),
    /** The asset that contains the clip. */
    fromId: p.string().length(30).primary(),
    clip: p.string().length(200).primary(),
    /** The program version that created it. */
    madeBy: p.integer(),
    sha256: p.string().length(64),
    size: p.integer(),
  },
})

export class AppliedClip extends AppliedClipSchema.class {}
AppliedClipSchema.setClass(AppliedClip)

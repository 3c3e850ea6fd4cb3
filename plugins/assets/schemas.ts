import Type, { type Static } from 'typebox'

export const KINDS = ['model', 'pack', 'image', 'audio', 'animation'] as const
export type Kind = (typeof KINDS)[number]
export const Kind = Type.Enum(KINDS)

export const Visibility = Type.Enum(['public', 'private'], {
  description: 'A private asset answers 404 to all but its owner.',
})
export type Visibility = 'public' | 'private'

export const VARIANTS = ['auto', 'source', 'lod'] as const
export const Variant = Type.Enum(VARIANTS)
export type Variant = (typeof VARIANTS)[number]

const Nullable = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()])

const Size = Type.Integer({ description: 'In bytes.' })
const VariantSize = Type.Object({ size: Size, triangles: Nullable(Type.Integer()) })

export const AssetFile = Type.Object({
  path: Type.String(),
  size: Size,
  sha256: Type.String(),
  contentType: Type.String(),
})

export const AssetSource = Type.Object({
  kind: Type.Enum(['upload', 'blender', 'generation']),
  jobId: Type.Optional(Type.String({ maxLength: 30 })),
})
export type AssetSource = Static<typeof AssetSource>

/** An asset as the API shows it (contracts, section 10). */
export const Asset = Type.Object({
  id: Type.String(),
  slug: Type.String(),
  title: Type.String(),
  description: Type.String(),
  kind: Kind,
  visibility: Visibility,
  curated: Type.Boolean({ description: 'Chosen by an administrator: its files never change or go.' }),
  license: Nullable(Type.String()),
  tags: Type.Array(Type.String()),
  ownerId: Type.String(),
  files: Type.Array(AssetFile),
  variants: Type.Object({ source: VariantSize, lod: Type.Optional(VariantSize) }),
  rigged: Type.Boolean(),
  animations: Type.Array(Type.String()),
  thumbnailUrl: Type.String(),
  fileUrl: Type.String({ description: 'The hot-link.' }),
  source: AssetSource,
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
})
export type Asset = Static<typeof Asset>

/** What comes beside the file of an upload. */
export interface NewAsset {
  title: string
  description?: string
  /** When given, the file must be of that kind. */
  kind?: Kind
  /** `private` by default. */
  visibility?: Visibility
  license?: string | null
  tags?: string[]
  source?: AssetSource
}

/** Numbers under `limits`. */
export const AssetLimits = {
  assetBytes: Type.Integer({
    default: 256 * 1024 ** 2,
    minimum: 1,
    description: 'The largest file that may be uploaded as an asset, in bytes.',
  }),
  assetPackBytes: Type.Integer({
    default: 1024 ** 3,
    minimum: 1,
    description: 'The files of an asset pack together, in bytes.',
  }),
  assetPackFiles: Type.Integer({ default: 1000, minimum: 1, maximum: 10_000, description: 'Files of an asset pack.' }),
}

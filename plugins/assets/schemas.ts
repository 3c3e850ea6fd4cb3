import Type, { type Static } from 'typebox'
import { PageQuery, pageOf } from '../../core/http/pagination.ts'
import { Tag, Tags } from '../../core/tags.ts'
import { VISIBLE_PATTERN } from '../../core/visible-text.ts'

export const KINDS = ['model', 'pack', 'image', 'audio', 'animation'] as const
export type Kind = (typeof KINDS)[number]
export const Kind = Type.Enum(KINDS)

export const Visibility = Type.Enum(['public', 'private'], {
  description: 'A private asset answers 404 to all but its owner and the makers of its game.',
})
export type Visibility = 'public' | 'private'

export const VARIANTS = ['auto', 'source', 'lod'] as const
export const Variant = Type.Enum(VARIANTS)
export type Variant = (typeof VARIANTS)[number]

/**
 * Why a model has no simplified form: it is simple already, its look would change, it would not become clearly smaller, it
 * has an extension whose data could get lost, it takes too much time or memory, the platform made a form that is not
 * valid, or the model can't be read.
 */
export const LOD_REASONS = [
  'few_triangles',
  'shape_would_change',
  'not_smaller',
  'unknown_extension',
  'too_slow',
  'failed',
  'unreadable',
] as const
export type LodReason = (typeof LOD_REASONS)[number]

/** Whether the default address may serve the simplified form of a large model. */
export const LOD_CHOICES = ['auto', 'off'] as const
export type LodChoice = (typeof LOD_CHOICES)[number]
const LodChoice = Type.Enum(LOD_CHOICES, {
  description: 'With `off`, the address without `variant` always serves the file as it was uploaded.',
})

const Nullable = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()])

const Title = Type.String({ minLength: 1, maxLength: 120, pattern: VISIBLE_PATTERN })
export const DESCRIPTION_LENGTH = 20_000
const Description = Type.String({ maxLength: DESCRIPTION_LENGTH })
const Author = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: VISIBLE_PATTERN,
  description: 'Who made it, if that is not its owner, for the credits of games.',
})
/** An SPDX expression: identifiers, `WITH`, `AND`, `OR` and brackets. */
const License = Type.String({
  maxLength: 100,
  pattern: '^[A-Za-z0-9.+()-]+(?: [A-Za-z0-9.+()-]+)*$',
  advice: 'Use an SPDX identifier or expression, such as CC-BY-4.0.',
  description: 'An SPDX identifier or expression, such as CC0-1.0 or CC-BY-4.0.',
})

/** The id or slug of a game. */
const GameName = Type.String({ minLength: 1, maxLength: 63 })

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

/** An asset in the form of the API. */
export const Asset = Type.Object(
  {
    id: Type.String(),
    slug: Type.String(),
    title: Type.String(),
    description: Type.String(),
    kind: Kind,
    visibility: Visibility,
    curated: Type.Boolean({ description: 'Chosen by an administrator: its files never change or go.' }),
    author: Type.Union([Type.String(), Type.Null()], { description: 'Who made it, if that is not its owner.' }),
    license: Nullable(Type.String()),
    attribution: Type.Union([Type.String(), Type.Null()], {
      description: 'Its line in the credits of a game. Null where neither license nor author is given.',
    }),
    tags: Type.Array(Type.String()),
    ownerId: Type.String(),
    gameId: Type.Union([Type.String(), Type.Null()], {
      description: 'The game to which it belongs, for its owner and the makers of the game; null to everybody else.',
    }),
    suspended: Type.Union(
      [Type.Object({ reason: Type.String(), at: Type.String({ format: 'date-time' }) }), Type.Null()],
      {
        description:
          'Since when its files answer 451, by decision of this platform, and why. Its owner may answer once.',
      },
    ),
    files: Type.Array(AssetFile),
    variants: Type.Object({ source: VariantSize, lod: Type.Optional(VariantSize) }),
    lodReason: Type.Union([Type.Enum(LOD_REASONS), Type.Null()], {
      description: 'Why a model has no simplified form; null while it has one, or is waiting for it.',
    }),
    lod: LodChoice,
    defaultVariant: Type.Enum(['source', 'lod'], {
      description:
        'What the address without `variant` serves now. After an upload the simplified form is still being made.',
    }),
    rigged: Type.Boolean(),
    animations: Type.Array(Type.String()),
    thumbnailUrl: Type.String(),
    fileUrl: Type.String({ description: 'The hot-link.' }),
    source: AssetSource,
    repairs: Type.Optional(
      Type.Array(Type.String(), { description: 'In the answer of an upload with `repair`: what was repaired.' }),
    ),
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
  },
  { title: 'Asset' },
)
export type Asset = Static<typeof Asset>

/** The fields of an upload, apart from the file. */
export interface NewAsset {
  title: string
  description?: string
  /** If set, the file must be of this kind. */
  kind?: Kind
  /** The default is `private`. */
  visibility?: Visibility
  /** Who made it, if that is not its owner. */
  author?: string | null
  license?: string | null
  tags?: string[]
  lod?: LodChoice
  /** The id or slug of a game that the owner makes. */
  gameId?: string
  /** Whether to repair small faults of models. */
  repair?: 'true' | 'false'
  source?: AssetSource
}

/** The fields of an upload form. Tags are one text, separated by commas or spaces. */
export const UploadFields = Type.Object(
  {
    title: Type.Optional(Title),
    description: Type.Optional(Description),
    kind: Type.Optional(Kind),
    visibility: Type.Optional(Visibility),
    author: Type.Optional(Author),
    license: Type.Optional(Type.Union([License, Type.Literal('')])),
    tags: Type.Optional(Tags),
    lod: Type.Optional(LodChoice),
    gameId: Type.Optional(GameName),
    repair: Type.Optional(
      Type.Enum(['true', 'false'], {
        description:
          'Whether to repair models, also those of an archive, that the validator would refuse for normals of another length than 1, or for bytes after the end of a .glb.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type UploadFields = Static<typeof UploadFields>

export const AssetChanges = Type.Partial(
  Type.Object({
    title: Title,
    description: Description,
    visibility: Visibility,
    author: Nullable(Author),
    license: Nullable(License),
    tags: Tags,
    lod: LodChoice,
    gameId: Nullable(
      Type.String({
        ...GameName,
        description: 'The id or slug of a game that you make, whose makers may read and change the asset then.',
      }),
    ),
    slug: Type.String({
      pattern: '^(?!.*--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$',
      advice: 'Use 1 to 63 of a-z, 0-9 and single hyphens, without one at an end.',
    }),
  }),
  { additionalProperties: false },
)
export type AssetChanges = Static<typeof AssetChanges>

export const AssetParams = Type.Object({
  id: Type.String({ maxLength: 63, description: 'The id or slug of an asset.' }),
})

export const AssetQuery = Type.Object({
  ...PageQuery.properties,
  q: Type.Optional(Type.String({ maxLength: 200, description: 'Words of the title, or beginnings of them.' })),
  kind: Type.Optional(Kind),
  tag: Type.Optional(Tag),
  license: Type.Optional(
    Type.String({ ...License, description: 'Those that may be used under this license, such as CC0-1.0.' }),
  ),
  owner: Type.Optional(Type.Literal('me', { description: 'Your own, private ones too; needs assets:read.' })),
  gameId: Type.Optional(
    Type.String({
      ...GameName,
      description: 'The id or slug of a game that you make: its assets, private ones too; needs assets:read.',
    }),
  ),
  curated: Type.Optional(Type.Boolean()),
  rigged: Type.Optional(Type.Boolean()),
})
export type AssetQuery = Static<typeof AssetQuery>

export const AssetList = pageOf('assets', Asset)

/** The manifest of an asset for programs. */
export const AssetManifest = Type.Object({
  id: Type.String(),
  slug: Type.String(),
  kind: Kind,
  author: Nullable(Type.String()),
  license: Nullable(Type.String()),
  rigged: Type.Boolean(),
  animations: Type.Array(Type.String()),
  url: Type.String(),
  variants: Type.Object({
    source: Type.Object({ ...VariantSize.properties, url: Type.String() }),
    lod: Type.Optional(Type.Object({ ...VariantSize.properties, url: Type.String() })),
  }),
  files: Type.Array(Type.Object({ ...AssetFile.properties, url: Type.String() })),
  presets: Type.Array(Type.Object({ preset: Type.String(), url: Type.String() })),
  clips: Type.Array(
    Type.Object({
      from: Type.String({ description: 'The asset whose clip it is.' }),
      clip: Type.String(),
      size: Size,
      url: Type.String(),
    }),
    { description: 'Clips of other assets that its owner has put on it.' },
  ),
  thumbnailUrl: Type.String(),
})
export type AssetManifest = Static<typeof AssetManifest>

/** The maximum length of a clip name. */
export const CLIP_NAME = 200
const ClipName = Type.String({ minLength: 1, maxLength: CLIP_NAME })

export const NewClip = Type.Object(
  {
    preset: Type.Optional(
      Type.String({ maxLength: 20, description: 'One of the presets; else send `from` and `clip`.' }),
    ),
    from: Type.Optional(
      Type.String({
        maxLength: 63,
        description: 'The id or slug of an asset with clips, such as one of the kind animation.',
      }),
    ),
    clip: Type.Optional(Type.String({ ...ClipName, description: 'One of its `animations`.' })),
  },
  { additionalProperties: false },
)
export type NewClip = Static<typeof NewClip>
export const Clip = Type.Object({
  preset: Type.Optional(Type.String()),
  from: Type.Optional(Type.String({ description: 'The id of the asset whose clip it is.' })),
  clip: Type.Optional(Type.String()),
  size: Size,
  url: Type.String(),
})
export const ClipParams = Type.Object({
  ...AssetParams.properties,
  preset: Type.String({
    maxLength: CLIP_NAME,
    description: 'A preset; with `from`, the name of a clip of that asset.',
  }),
})
export const ClipQuery = Type.Object({
  from: Type.Optional(
    Type.String({ maxLength: 63, description: 'The id or slug of the asset whose clip was put on the model.' }),
  ),
})
export const ClipOf = Type.Object({ from: Type.String({ maxLength: 63 }), clip: ClipName })

/** The plugin's part of the configuration. */
export const AssetsConfig = Type.Object(
  {
    diskCacheBytes: Type.Integer({
      default: 4 * 1024 ** 3,
      minimum: 0,
      description: 'Disk space in the data folder for copies of files from a storage over the network, in bytes.',
    }),
  },
  { default: {}, description: 'Hosting models, packs, pictures and sounds.' },
)
export type AssetsConfig = Static<typeof AssetsConfig>

/** The plugin's values in `limits`. */
export const AssetLimits = {
  assetBytes: Type.Integer({
    default: 256 * 1024 ** 2,
    minimum: 1,
    description: 'The largest file that may be uploaded as an asset, in bytes.',
  }),
  assetPackBytes: Type.Integer({
    default: 1024 ** 3,
    minimum: 1,
    maximum: 4_000_000_000,
    description: 'The files of an asset pack together, in bytes.',
  }),
  assetClips: Type.Integer({
    default: 100,
    minimum: 0,
    maximum: 10_000,
    description: 'Clips of other assets that one model may be given; each is a copy of the model.',
  }),
  assetPackFiles: Type.Integer({ default: 1000, minimum: 1, maximum: 10_000, description: 'Files of an asset pack.' }),
}

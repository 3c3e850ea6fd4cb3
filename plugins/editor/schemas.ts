import Type, { type Static, type TObject } from 'typebox'

/** The plugin's values in `limits`. */
export const EditorLimits = {
  draftFileBytes: Type.Integer({
    default: 32 * 1024 ** 2,
    minimum: 1,
    maximum: 256 * 1024 ** 2,
    description: 'Largest file that the editor takes; larger ones go by a deploy.',
  }),
  draftFiles: Type.Integer({
    default: 2000,
    minimum: 1,
    maximum: 100_000,
    description: 'Files that one draft adds, changes or removes.',
  }),
}
export type EditorLimits = Static<TObject<typeof EditorLimits>>

/** The largest text that the editor opens and that a comparison contains, in bytes. */
export const TEXT_BYTES = 256 * 1024

const Time = Type.String({ format: 'date-time' })
const Nullable = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()])
const Revision = Type.Integer({ description: 'Grows with every change of the draft.' })

export const GameParams = Type.Object({ id: Type.String({ maxLength: 63, description: "The game's id or slug." }) })
export const FileParams = Type.Object({
  ...GameParams.properties,
  path: Type.String({ maxLength: 512, description: 'The path of the file, with each `/` as `%2F`.' }),
})

const Editor = Type.Object({ id: Type.String(), name: Type.String() })

export const DraftFileInfo = Type.Object({
  path: Type.String(),
  size: Type.Integer({ description: 'In bytes.' }),
  contentType: Type.String(),
  revision: Type.Integer({ description: 'The revision of its last change in the draft; 0 for a file of the base.' }),
  change: Nullable(Type.Union([Type.Literal('added'), Type.Literal('changed')])),
})
export type DraftFileInfo = Static<typeof DraftFileInfo>

export const Draft = Type.Object({
  gameId: Type.String(),
  revision: Revision,
  baseDeployId: Nullable(Type.String({ description: 'The deploy whose files it changes.' })),
  outdated: Type.Boolean({ description: 'Whether another deploy went live since it began.' }),
  changed: Type.Boolean({ description: 'Whether there is anything to publish.' }),
  room: Nullable(Type.String({ description: 'The path of the room script.' })),
  files: Type.Array(DraftFileInfo, { description: 'All files, those of the base included, by path.' }),
  removed: Type.Array(Type.String(), { description: 'Paths of the base that the draft lacks.' }),
  updatedAt: Nullable(Time),
  updatedBy: Nullable(Editor),
})
export type Draft = Static<typeof Draft>

export const WrittenFile = Type.Object({
  path: Type.String(),
  size: Type.Integer({ description: 'In bytes.' }),
  revision: Revision,
  updatedAt: Time,
})
export type WrittenFile = Static<typeof WrittenFile>

export const DraftState = Type.Object({ revision: Revision, updatedAt: Time })
export type DraftState = Static<typeof DraftState>

export const Rename = Type.Object(
  {
    from: Type.String({ maxLength: 512, description: 'A file, or a folder with all that is in it.' }),
    to: Type.String({ maxLength: 512 }),
  },
  { additionalProperties: false },
)
export type Rename = Static<typeof Rename>

export const DraftChanges = Type.Object(
  { room: Nullable(Type.String({ maxLength: 512, description: 'The file that is the room script; null for none.' })) },
  { additionalProperties: false },
)

export const Publication = Type.Object(
  { message: Type.Optional(Type.String({ maxLength: 500, description: 'A note for the history.' })) },
  { additionalProperties: false },
)

const Side = Nullable(
  Type.Object({
    size: Type.Integer({ description: 'In bytes.' }),
    text: Nullable(Type.String({ description: 'null where it is no text, or too large to compare.' })),
  }),
)
export const Comparison = Type.Object({
  from: Nullable(Type.String()),
  to: Type.String(),
  files: Type.Array(
    Type.Object({
      path: Type.String(),
      change: Type.Union([Type.Literal('added'), Type.Literal('changed'), Type.Literal('removed')]),
      before: Side,
      after: Side,
    }),
  ),
})
export type Comparison = Static<typeof Comparison>
export const ComparisonQuery = Type.Object({
  from: Type.Optional(Type.String({ maxLength: 30, description: 'A deploy; default the live one.' })),
  to: Type.Optional(Type.String({ maxLength: 30, description: 'A deploy; default the draft.' })),
})

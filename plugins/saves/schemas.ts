import Type, { type Static, type TObject } from 'typebox'

const Count = (fallback: number, description: string) => Type.Integer({ default: fallback, minimum: 1, description })

/** The plugin's values in `limits`. */
export const SaveLimits = {
  saveBytes: Type.Integer({
    default: 1024 * 1024,
    minimum: 1,
    maximum: 16 * 1024 * 1024,
    description: 'Largest save of a player.',
  }),
  savesPerPlayer: Count(100, 'Saves of one player in one game.'),
  savesTotalBytes: Count(
    16 * 1024 * 1024,
    'Bytes of all saves of one player in one game, with earlier versions, of which the oldest go first. A game may set less.',
  ),
  saveWritesPerMinute: Count(240, 'Changes of saves a minute, of one player in one game.'),
  saveReadsPerMinute: Count(600, 'Reads of saves a minute, of one player in one game.'),
}
export type SaveLimits = Static<TObject<typeof SaveLimits>>

export const KEY_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'

export const SaveParams = Type.Object({
  key: Type.String({
    pattern: KEY_PATTERN,
    advice: 'Use 1 to 64 of A-Z, a-z, 0-9, dots, _ and -, with a letter or digit first.',
    description: 'The name of the save.',
  }),
})

const Version = Type.Integer({ minimum: 1, description: 'Grows with every change.' })
const Time = Type.String({ format: 'date-time' })

/** A save without its value. */
export const SaveInfo = Type.Object(
  {
    key: Type.String(),
    version: Version,
    size: Type.Integer({ description: 'In bytes.' }),
    contentType: Type.String({ description: 'The media type of the value, as it was sent.' }),
    updatedAt: Time,
  },
  { title: 'SaveInfo' },
)
export type SaveInfo = Static<typeof SaveInfo>

/** The result of a change. */
export const WrittenSave = Type.Object({ key: Type.String(), version: Version, size: Type.Integer(), updatedAt: Time })
export type WrittenSave = Static<typeof WrittenSave>

export const SaveList = Type.Object({
  saves: Type.Array(SaveInfo),
  usedBytes: Type.Integer({ description: 'The bytes of all saves of the player in this game.' }),
  limitBytes: Type.Integer(),
})
export type SaveList = Static<typeof SaveList>

export const KeptVersion = Type.Object({
  version: Version,
  size: Type.Integer(),
  contentType: Type.String(),
  updatedAt: Time,
  current: Type.Boolean({ description: 'false for an earlier version, and for every version of a deleted save.' }),
})
export type KeptVersion = Static<typeof KeptVersion>

export const VersionList = Type.Object({ key: Type.String(), versions: Type.Array(KeptVersion) })

export const Restoration = Type.Object({ version: Version })

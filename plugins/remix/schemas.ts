import Type, { type Static } from 'typebox'
import { VISIBLE_PATTERN } from '../../core/visible-text.ts'

export const TITLE_LENGTH = 120

export const NewRemix = Type.Object(
  {
    title: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: TITLE_LENGTH,
        pattern: VISIBLE_PATTERN,
        description: 'Default: “My”, and the title of the game.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type NewRemix = Static<typeof NewRemix>

export const GameParams = Type.Object({ id: Type.String({ maxLength: 63, description: "The game's id or slug." }) })

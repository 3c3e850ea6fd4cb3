import Type, { type Static } from 'typebox'
import { bodyWithText } from '../../core/http/limits/body-limits.ts'
import { LedgerEntry } from '../billing/index.ts'

/** The plugin's values in `limits`. */
export const AiLimits = {
  aiRequestsPerMinute: Type.Integer({ default: 30, minimum: 1, description: 'Generations a minute, by caller.' }),
  // The maximum is below the longest time for which an Idempotency-Key is renewed (core/http/idempotency.ts).
  aiSeconds: Type.Integer({
    default: 90,
    minimum: 1,
    maximum: 900,
    description: 'Longest time of one generation. A local model may load for minutes before it begins.',
  }),
  aiSchemaBytes: Type.Integer({ default: 32_768, minimum: 256, description: 'Largest JSON Schema of an object.' }),
}
export type AiLimits = { [Name in keyof typeof AiLimits]: number }

const PROMPT_LENGTH = 8000
const SYSTEM_LENGTH = 32_000

/** Returns the largest body of a generation in bytes: two long texts, and a schema that may be indented or encoded. */
export const generationBytes = ({ aiSchemaBytes }: AiLimits): number =>
  bodyWithText(PROMPT_LENGTH + SYSTEM_LENGTH) + 3 * aiSchemaBytes

const GenerationType = Type.Union([Type.Literal('text'), Type.Literal('object'), Type.Literal('image')])

export const GenerateRequest = Type.Object({
  type: GenerationType,
  prompt: Type.String({ minLength: 1, maxLength: PROMPT_LENGTH }),
  system: Type.Optional(
    Type.String({ maxLength: SYSTEM_LENGTH, description: 'Instructions for the model, before the prompt.' }),
  ),
  schema: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'JSON Schema of the object, of at most 500 subschemas; only with type object.',
    }),
  ),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Default: the first of its type.' })),
  gameId: Type.Optional(
    Type.String({
      maxLength: 63,
      description: 'The game for its statistics: id or slug of a game of yours, or of the token’s.',
    }),
  ),
  maxOutputTokens: Type.Integer({ minimum: 1, maximum: 16_384, default: 4096 }),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  aspectRatio: Type.Optional(
    Type.String({
      pattern: '^[1-9][0-9]?:[1-9][0-9]?$',
      advice: 'Use two numbers from 1 to 99 with a colon between them, such as 16:9.',
      description: 'Only with type image, such as `16:9`.',
    }),
  ),
  imageSize: Type.Optional(
    Type.Union([Type.Literal('1K'), Type.Literal('2K')], { description: 'Only with type image.' }),
  ),
  stream: Type.Optional(Type.Boolean({ description: 'Server-sent events; only with type text.' })),
})
export type GenerateRequest = Static<typeof GenerateRequest>

export const Generation = Type.Object({
  id: Type.String(),
  type: GenerationType,
  model: Type.String(),
  result: Type.Unknown({
    description: 'text: a string; object: the object; image: `{ b64Json, contentType }`.',
  }),
  finish: Type.Union([Type.Literal('complete'), Type.Literal('length'), Type.Literal('filtered')], {
    description:
      'How a text ended: by itself, at `maxOutputTokens`, or at the provider’s filter; others are always `complete`.',
  }),
  creditsUsed: Type.Integer(),
  balance: Type.Integer({ description: 'Credits that are left to spend.' }),
})
export type Generation = Static<typeof Generation>

/** The result of a generation of the type image. */
export interface Picture {
  b64Json: string
  contentType: string
}

export const CreditsView = Type.Object({
  balance: Type.Integer({ description: 'Credits that can be spent now.' }),
  debt: Type.Integer({
    description:
      'Credits that are owed, since a payment was refunded or disputed after its credits were spent. The next credits settle it.',
  }),
  ledger: Type.Array(LedgerEntry, { description: 'The last 20 entries, newest first.' }),
})

/** The body and answer of a generation for the page of a hosted game, which learns nothing about the balance. */
export const HostedRequest = Type.Omit(GenerateRequest, ['gameId'])
export const HostedGeneration = Type.Omit(Generation, ['balance'])

/** The bounds of what a player allows a game, in credits a day. */
export const MOST_PER_DAY = 100_000
export const USUAL_PER_DAY = 20

import type { CallOptions, Connection } from './connection.ts'
import type { FromSchema, JsonSchema } from './json-schema.ts'
import type { Answer } from './types.ts'

export type Credits = Answer<'/api/ai/credits', 'get'>

interface Shared extends CallOptions {
  /** At most 8,000 characters. */
  prompt: string
  model?: string | undefined
  /** The game for the statistics. */
  gameId?: string | undefined
}

export interface TextRequest extends Shared {
  system?: string | undefined
  /** Default 4,096, at most 16,384. */
  maxOutputTokens?: number | undefined
  temperature?: number | undefined
}

export interface ObjectRequest<Schema> extends TextRequest {
  /** The result holds to it. */
  schema: Schema
}

export interface ImageRequest extends Shared {
  /** Such as `16:9`. */
  aspectRatio?: string | undefined
  imageSize?: '1K' | '2K' | undefined
}

/** The result, its model, and its cost. */
export interface Generated<Result> {
  id: string
  type: 'text' | 'object' | 'image'
  model: string
  result: Result
  creditsUsed: number
  balance: number
}

export interface Image {
  b64Json: string
  contentType: string
}

async function generate<Result>(
  connection: Connection,
  { signal, ...body }: CallOptions & Record<string, unknown>,
): Promise<Generated<Result>> {
  const options = { body, signal, idempotent: true, timeoutMs: 180_000 }
  return connection.json('POST', '/api/ai/generate', options)
}

/** Writes text. Needs `ai:generate`; nothing is charged unless it succeeds. @throws InsufficientCreditsError */
export const generateText = (connection: Connection, request: TextRequest): Promise<Generated<string>> =>
  generate(connection, { type: 'text', ...request })

/** Makes an object that holds to a JSON Schema; its type is read from the schema. */
export const generateObject = <const Schema extends JsonSchema>(
  connection: Connection,
  request: ObjectRequest<Schema>,
): Promise<Generated<FromSchema<Schema>>> => generate(connection, { type: 'object', ...request })

/** Draws a picture, which comes in base64: `src = dataUrl(image.result)`. */
export const generateImage = (connection: Connection, request: ImageRequest): Promise<Generated<Image>> =>
  generate(connection, { type: 'image', ...request })

/** A picture as an address, for `<img>` and texture loaders. */
export const dataUrl = ({ b64Json, contentType }: Image): string => `data:${contentType};base64,${b64Json}`

/** The balance and the last 20 entries of the ledger. The first call gives the sign-up credits. */
export const getCredits = (connection: Connection, options?: CallOptions): Promise<Credits> =>
  connection.json('GET', '/api/ai/credits', options)

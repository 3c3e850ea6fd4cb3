import type { CallOptions, Connection } from './connection.ts'
import type { FromSchema, JsonSchema } from './json-schema.ts'
import type { Answer } from './types.ts'

export type Credits = Answer<'/api/ai/credits', 'get'>

interface Shared extends CallOptions {
  /** At most 8,000 characters. */
  prompt: string
  model?: string | undefined
  /** The game to which the statistics attribute the request. */
  gameId?: string | undefined
}

export interface TextRequest extends Shared {
  system?: string | undefined
  /** Default: 4,096; maximum: 16,384 */
  maxOutputTokens?: number | undefined
  temperature?: number | undefined
}

export interface ObjectRequest<Schema> extends TextRequest {
  /** The JSON Schema of the result. */
  schema: Schema
}

export interface ImageRequest extends Shared {
  /** A ratio such as `16:9`. */
  aspectRatio?: string | undefined
  imageSize?: '1K' | '2K' | undefined
}

/** The result, its model, and its cost. */
export interface Generated<Result> {
  id: string
  type: 'text' | 'object' | 'image'
  model: string
  result: Result
  /** How a text ended: by itself, at `maxOutputTokens`, or at the provider's filter. */
  finish: 'complete' | 'length' | 'filtered'
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

/** Generates text. Needs `ai:generate`. Only a success is charged. @throws InsufficientCreditsError */
export const generateText = (connection: Connection, request: TextRequest): Promise<Generated<string>> =>
  generate(connection, { type: 'text', ...request })

/** Generates an object that conforms to a JSON Schema. Its type derives from the schema. */
export const generateObject = <const Schema extends JsonSchema>(
  connection: Connection,
  request: ObjectRequest<Schema>,
): Promise<Generated<FromSchema<Schema>>> => generate(connection, { type: 'object', ...request })

/** Generates an image in base64: `src = dataUrl(image.result)`. */
export const generateImage = (connection: Connection, request: ImageRequest): Promise<Generated<Image>> =>
  generate(connection, { type: 'image', ...request })

/** Returns an image as a data URL, for `<img>` and texture loaders. */
export const dataUrl = ({ b64Json, contentType }: Image): string => `data:${contentType};base64,${b64Json}`

/** Returns the balance and the last 20 entries of the ledger. The first call grants the sign-up credits. */
export const getCredits = (connection: Connection, options?: CallOptions): Promise<Credits> =>
  connection.json('GET', '/api/ai/credits', options)

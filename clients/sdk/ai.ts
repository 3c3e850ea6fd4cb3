import type { CallOptions, Connection } from './connection.ts'
import { ConnectionError, type ErrorBody, errorIn } from './errors.ts'
import type { FromSchema, JsonSchema } from './json-schema.ts'
import { unexpected } from './response-body.ts'
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

/** A platform may wait for a model for 15 minutes. */
const GENERATION_MS = 960_000

async function generate<Result>(
  connection: Connection,
  { signal, ...body }: CallOptions & Record<string, unknown>,
): Promise<Generated<Result>> {
  const options = { body, signal, idempotent: true, timeoutMs: GENERATION_MS }
  return connection.json('POST', '/api/ai/generate', options)
}

/** Generates text. Needs `ai:generate`. Only a success is charged. @throws InsufficientCreditsError */
export const generateText = (connection: Connection, request: TextRequest): Promise<Generated<string>> =>
  generate(connection, { type: 'text', ...request })

const CUT = 'The text was cut before its end. credits() shows whether it was charged.'

/** A text that arrives in pieces: `for await (const piece of stream) …` */
export interface TextStream extends AsyncIterable<string> {
  /** Reads the remaining pieces, and returns the whole text with its cost. */
  whole(): Promise<Generated<string>>
}

/**
 * Generates text that arrives in pieces. Needs `ai:generate`. Only a whole text is charged: leaving the iteration ends the
 * generation.
 */
export function streamText(connection: Connection, { signal, ...request }: TextRequest): TextStream {
  let generated: Generated<string> | undefined
  async function* read() {
    // Games load the SDK too, and most do not generate.
    const { eventsOf, isEventStream } = await import('./event-stream.ts')
    const options = {
      body: { type: 'text', ...request, stream: true },
      headers: { accept: 'text/event-stream, application/json' },
      signal,
      idempotent: true,
      timeoutMs: GENERATION_MS,
      silenceMs: GENERATION_MS,
    }
    const { events, first } = await connection.receive('POST', '/api/ai/generate', options, async (response) => {
      if (!isEventStream(response)) throw unexpected(response)
      const events = eventsOf(response)
      const first = await events.next()
      if (first.done) throw new ConnectionError('network', CUT)
      return { events, first }
    })
    try {
      for (
        let next: IteratorResult<{ event: string; data: unknown }, void> = first;
        !next.done;
        next = await events.next()
      ) {
        const { event, data } = next.value
        if (event === 'error') throw errorIn(data as ErrorBody, { status: 502, headers: new Headers() })
        if (event === 'done') {
          generated = data as Generated<string>
          return
        }
        yield (data as { delta: string }).delta
      }
    } finally {
      await events.return()
    }
    throw new ConnectionError('network', CUT)
  }
  const pieces = read()
  return {
    [Symbol.asyncIterator]: () => pieces,
    async whole() {
      for await (const _piece of pieces);
      if (!generated) throw new ConnectionError('network', 'The text was not read to its end.')
      return generated
    },
  }
}

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

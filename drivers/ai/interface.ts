import Type, { type Static } from 'typebox'
import { defineError } from '../../core/errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The AI provider. `aiObject` and `aiImage` replace it for their type when they have models for it. */
    aiDriver: AiProvider
    aiObject: AiProvider
    aiImage: AiProvider
  }
}

export type GenerationType = 'text' | 'object' | 'image'
export type ImageSize = '1K' | '2K'

interface Prompted {
  /** One of the `models` of the requested type. */
  model: string
  prompt: string
  /** Instructions for the model, before the prompt. */
  system?: string | undefined
}

export interface TextRequest extends Prompted {
  /** Maximum number of generated tokens. A provider that counts differently is charged for at most this number. */
  maxOutputTokens: number
  temperature?: number | undefined
}

export interface ObjectRequest extends TextRequest {
  /** JSON Schema for the object. The provider may ignore it; the caller validates the result. */
  schema?: Record<string, unknown> | undefined
}

export interface ImageRequest extends Prompted {
  /** `width:height`, such as `16:9`. */
  aspectRatio?: string | undefined
  /** `1K` is about one megapixel, `2K` about four. */
  imageSize: ImageSize
}

/** How a text ended: by itself, at the limit of its tokens, or at the provider's filter. */
export type Finish = 'complete' | 'length' | 'filtered'

export interface Generated {
  /** Output tokens as the provider counts them, including reasoning; null when it reports none, or zero. */
  outputTokens: number | null
}

/**
 * A provider of generated text, objects and images. The family `ai`.
 *
 * Code above it does not depend on the vendor. Each call is one generation. A driver may retry within the call while
 * nothing has been generated (the provider was busy, or could not be reached), never afterwards. Every failure is a
 * `ProviderError`, which contains no text of the provider's response and no credential. When the signal aborts, a call
 * ends soon with the signal's reason; that is the only time limit.
 *
 * A text never begins with what a model thought before its answer, such as `<think>…</think>`.
 */
export interface AiProvider {
  /** The models by type, the default first; empty when the provider does not support the type. */
  readonly models: Readonly<Record<GenerationType, readonly string[]>>
  /** The prices of models; they replace the default prices. */
  readonly pricing: Pricing
  /** @throws ProviderError also when the text is empty */
  text(request: TextRequest, signal: AbortSignal): Promise<Generated & { text: string; finish: Finish }>
  /** Streams the text in pieces, and returns how it ended and the token count. @throws ProviderError */
  streamText(request: TextRequest, signal: AbortSignal): AsyncGenerator<string, Generated & { finish: Finish }>
  /** Generates any JSON value, parsed. @throws ProviderError also when the output is cut off or not JSON */
  object(request: ObjectRequest, signal: AbortSignal): Promise<Generated & { object: unknown }>
  /** @throws ProviderError also when the response has no image, or its data is not an image */
  image(request: ImageRequest, signal: AbortSignal): Promise<{ bytes: Uint8Array; contentType: string }>
  close(): Promise<void>
}

/**
 * A failure of a provider. `reason`, `status` and `hint` are for the log. The message is for the caller, and so is the
 * reason in the body, a key of `FAILURES`.
 */
export class ProviderError extends defineError('upstream_error', 502, '%s') {
  readonly reason: ProviderFault
  /** The HTTP status of the response, if there was one. */
  readonly status: number | undefined
  /** What the host can do about it; undefined where it is not for the host to do. */
  readonly hint: string | undefined

  constructor(
    reason: ProviderFault,
    { status, retryAfterSeconds }: { status?: number; retryAfterSeconds?: number } = {},
  ) {
    const [failure, message, hint] = FAULTS[reason]
    super(message)
    this.reason = reason
    this.status = status
    this.hint = hint
    this.body = { reason: failure }
    if (retryAfterSeconds !== undefined) this.headers = { 'retry-after': String(retryAfterSeconds) }
  }
}

/**
 * The failures of a generation as the caller sees them, and whether the same request may succeed later. Nobody repeats the
 * others: each attempt would fail again, at the host's expense.
 */
export const FAILURES = {
  unavailable: { passing: true },
  busy: { passing: true },
  refused: { passing: false },
  cut: { passing: false },
  no_answer_in_schema: { passing: false },
  configuration: { passing: false },
} as const
export type Failure = keyof typeof FAILURES

/** Each fault as its failure, the message for the caller, and the hint for the host. */
const FAULTS = {
  refused: ['refused', 'The AI provider refused this request. Try another prompt or model.'],
  filtered: ['refused', 'The filter of the AI provider stopped this answer. Change the prompt.'],
  cut: ['cut', 'The answer did not fit into maxOutputTokens. Allow more of them, or ask for less.'],
  'no-object': [
    'no_answer_in_schema',
    'The model gave no answer of this shape. Simplify the schema, describe it in the prompt, or try another model.',
    'Choose a stronger model in models.object, or structuredOutputs: true if the server can do that.',
  ],
  'wrong-key': [
    'configuration',
    'The AI provider does not accept this server. Tell its administrator.',
    'Check apiKey of this provider: it is wrong, has expired, or may not use this model.',
  ],
  'no-money': [
    'configuration',
    'The AI provider does not accept this server. Tell its administrator.',
    'The account at the provider has no money or quota left.',
  ],
  misconfigured: [
    'configuration',
    'The AI provider does not accept this server. Tell its administrator.',
    'Check baseUrl and models of this provider: it has no such address or no such model.',
  ],
  busy: ['busy', 'The AI provider is busy. Try again later.'],
  unreachable: ['unavailable', 'The AI provider does not answer.', 'Check baseUrl, and whether the provider runs.'],
  failed: ['unavailable', 'The AI provider failed. Try again.'],
  'invalid-answer': ['unavailable', 'The AI provider gave no usable answer. Try again.'],
  late: ['unavailable', 'The AI provider took too long.', 'Raise limits.aiSeconds if the model is slow.'],
} as const satisfies Record<string, readonly [failure: Failure, message: string, hint?: string]>
export type ProviderFault = keyof typeof FAULTS

const Models = Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })])

const ModelPrice = Type.Object(
  {
    outputTokens: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 100_000, description: 'Credits a started 1,000 output tokens.' }),
    ),
    '1K': Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000, description: 'Credits an image of size 1K.' })),
    '2K': Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000, description: 'Credits an image of size 2K.' })),
  },
  { additionalProperties: false },
)
export type Pricing = Readonly<Record<string, Static<typeof ModelPrice>>>

/** The configuration that every provider has. */
export const providerConfig = {
  models: Type.Object(
    { text: Type.Optional(Models), object: Type.Optional(Models), image: Type.Optional(Models) },
    {
      additionalProperties: false,
      default: {},
      description:
        'Models by type; of a list the first is used by default. Objects are made by the text models unless they have their own.',
    },
  ),
  pricing: Type.Record(Type.String(), ModelPrice, {
    default: {},
    description:
      'Prices by model, in credits; by default 1 a started 1,000 output tokens, an image 10 (1K) or 20 (2K).',
  }),
}

type ModelsConfig = Static<typeof providerConfig.models>

/** Lists the configured models by type. */
export function modelsOf({ text = [], object = text, image = [] }: ModelsConfig): Record<GenerationType, string[]> {
  return { text: [text].flat(), object: [object].flat(), image: [image].flat() }
}

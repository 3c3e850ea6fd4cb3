import type {
  ImageModelV4,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import type { Clock } from '../../core/clock.ts'
import { contentTypeOf } from './content-type.ts'
import {
  type AiProvider,
  type Finish,
  type GenerationType,
  type ImageRequest,
  type ObjectRequest,
  type Pricing,
  ProviderError,
  type ProviderFault,
  type TextRequest,
} from './interface.ts'
import { jsonIn } from './json-answer.ts'
import { faultOf, isCatalogued, refusesFormat, withRetries } from './provider-errors.ts'
import { endsUnopenedThought, LeadingThoughts } from './reasoning.ts'

/** The differences between providers on the Vercel AI SDK. */
export interface Vendor {
  language(model: string): LanguageModelV4
  /** Options for each request of text or an object. */
  languageOptions?: LanguageModelV4CallOptions['providerOptions']
  /** The server does not support schemas, so the prompt contains the schema. */
  schemaInPrompt?: boolean
  image?: ((model: string) => ImageModelV4) | undefined
  /** Converts the requested image size to options of the SDK. */
  imageOptions?: ((request: ImageRequest) => Partial<Parameters<ImageModelV4['doGenerate']>[0]>) | undefined
}

export interface ProviderSettings {
  models: Record<GenerationType, string[]>
  pricing: Pricing
  clock: Clock
  /** Loads the vendor's SDK, once, at the first generation. */
  load(): Promise<Vendor>
}

/**
 * Creates a provider on top of the SDK's models. The models are called without the functions of the package `ai`, whose
 * telemetry, retries and conversions would exceed the time that a request may be delayed by.
 */
export function createProvider({ models, pricing, clock, load }: ProviderSettings): AiProvider {
  let loading: Promise<Vendor> | undefined
  const vendor = () => {
    loading ??= load().then(keepModels)
    return loading
  }

  /** Whether the streams of a model begin within a thought, as far as its answers have shown. */
  const unopened = new Map<string, boolean>()
  const beginsUnopened = (model: string) => unopened.get(model) ?? THINKING_MODEL.test(model)
  const learn = (model: string, ended: boolean) => unopened.set(model, unopened.get(model) === true || ended)
  /** Removes the thoughts from a whole text. */
  const answerIn = (model: string, text: string, cut: boolean) => {
    const within = endsUnopenedThought(text) || beginsUnopened(model)
    if (!cut) learn(model, endsUnopenedThought(text))
    const thoughts = new LeadingThoughts(within)
    return thoughts.add(text) + thoughts.end(cut)
  }

  const generate = (
    request: ObjectRequest,
    signal: AbortSignal,
    format?: LanguageModelV4CallOptions['responseFormat'],
  ) =>
    withRetries({ signal, clock }, async () => {
      const { language, languageOptions = {}, schemaInPrompt = false } = await vendor()
      const call = (asked: TextRequest, responseFormat?: LanguageModelV4CallOptions['responseFormat']) =>
        language(request.model).doGenerate({
          ...optionsOf(asked, signal),
          providerOptions: languageOptions,
          ...(responseFormat ? { responseFormat } : {}),
        })
      if (!format) return call(request)
      try {
        return await call({ ...request, system: jsonSystem(request, schemaInPrompt) }, format)
      } catch (error) {
        if (!refusesFormat(error)) throw error
        // It is not remembered: the reason may be this schema.
        return call({ ...request, system: jsonSystem(request, true) })
      }
    })

  return {
    models,
    pricing,

    async text(request, signal) {
      const { content, usage, finishReason } = await generate(request, signal)
      const text = answerIn(request.model, textOf(content), finishReason.unified === 'length')
      if (hasFailed(finishReason)) throw new ProviderError('invalid-answer')
      if (text === '') throw new ProviderError(faultOfEnd(finishReason))
      return { text, finish: finishOf(finishReason), outputTokens: tokensOf(usage) }
    },

    async *streamText(request, signal) {
      const { stream } = await withRetries({ signal, clock }, async () =>
        (await vendor()).language(request.model).doStream(optionsOf(request, signal)),
      )
      const thoughts = new LeadingThoughts(beginsUnopened(request.model))
      let passed = ''
      let finish: End | undefined
      try {
        for await (const part of stream) {
          if (part.type === 'error') throw part.error
          if (part.type === 'finish') finish = part
          const piece =
            part.type === 'text-delta'
              ? thoughts.add(part.delta)
              : part.type === 'finish'
                ? thoughts.end(part.finishReason.unified === 'length')
                : ''
          passed += piece
          if (piece !== '') yield piece
        }
      } catch (error) {
        throw isCatalogued(error) ? error : faultOf(error, { signal, clock })
      }
      // The SDK also finishes streams that broke off; a raw reason exists only when the provider finished the stream.
      if (!finish?.finishReason.raw || hasFailed(finish.finishReason)) throw new ProviderError('invalid-answer')
      if (passed === '') throw new ProviderError(faultOfEnd(finish.finishReason))
      learn(request.model, thoughts.endedUnopened || endsUnopenedThought(passed))
      return { finish: finishOf(finish.finishReason), outputTokens: tokensOf(finish.usage) }
    },

    async object(request: ObjectRequest, signal) {
      const { schema } = request
      const { content, usage, finishReason } = await generate(request, signal, {
        type: 'json',
        ...(schema ? { schema: schema as never, name: 'result' } : {}),
      })
      const text = textOf(content)
      const end = faultOfEnd(finishReason)
      if (end !== 'invalid-answer' || text === '' || hasFailed(finishReason)) throw new ProviderError(end)
      const object = jsonIn(text)
      if (object === undefined) throw new ProviderError('no-object')
      return { object, outputTokens: tokensOf(usage) }
    },

    async image(request, signal) {
      const { images } = await withRetries({ signal, clock }, async () => {
        const { image, imageOptions } = await vendor()
        if (!image) throw new ProviderError('misconfigured')
        return image(request.model).doGenerate({
          prompt: request.system ? `${request.system}\n\n${request.prompt}` : request.prompt,
          n: 1,
          size: undefined,
          aspectRatio: undefined,
          seed: undefined,
          files: undefined,
          mask: undefined,
          providerOptions: {},
          ...imageOptions?.(request),
          abortSignal: signal,
        })
      })
      const [first] = images
      const bytes = typeof first === 'string' ? Buffer.from(first.replace(DATA_URL, ''), 'base64') : first
      const contentType = bytes && contentTypeOf(bytes)
      if (!bytes || !contentType) throw new ProviderError('invalid-answer')
      return { bytes, contentType }
    },

    async close() {},
  }
}

/** The beginning of an image that is the address of itself (RFC 2397). */
const DATA_URL = /^\s*data:[^,]*,/

/**
 * Models whose template opens the thought. Before their first answer nothing else tells: that answer is not passed on
 * before its thought has ended.
 */
const THINKING_MODEL = /deepseek-?r1|\br1\b|qwq|qwen-?3|thinking|reason|magistral|nemotron/i

/**
 * Creates each model once: some SDKs build the schemas of every response with it, which takes longer than the rest of a
 * call. The names come from the configuration, so there are few.
 */
function keepModels({ language, image, ...vendor }: Vendor): Vendor {
  return { ...vendor, language: once(language), image: image && once(image) }
}

function once<Model>(make: (name: string) => Model): (name: string) => Model {
  const made = new Map<string, Model>()
  return (name) => {
    const model = made.get(name) ?? make(name)
    made.set(name, model)
    return model
  }
}

function optionsOf(request: TextRequest, signal: AbortSignal): LanguageModelV4CallOptions {
  const { prompt, system, maxOutputTokens, temperature } = request
  return {
    prompt: [
      ...(system ? [{ role: 'system', content: system } as const] : []),
      { role: 'user', content: [{ type: 'text', text: prompt }] },
    ],
    maxOutputTokens,
    ...(temperature === undefined ? {} : { temperature }),
    abortSignal: signal,
  }
}

/** Some models need an explicit instruction to produce JSON, and some servers require the word "JSON" in the prompt. */
function jsonSystem({ system, schema }: ObjectRequest, schemaInPrompt: boolean): string {
  const rule = 'Answer with one JSON value and nothing else.'
  const shape = schema && schemaInPrompt ? `It must match this JSON Schema: ${JSON.stringify(schema)}` : null
  return [system, rule, shape].filter(Boolean).join('\n\n')
}

type End = Extract<LanguageModelV4StreamPart, { type: 'finish' }>

/** Some gateways report the failure of the server behind them as the reason of the end, with what had been generated. */
const hasFailed = ({ unified, raw }: End['finishReason']) => unified === 'error' || raw === 'error'

/** The fault of an answer without content, by the reason of its end. */
const faultOfEnd = ({ unified }: End['finishReason']): ProviderFault =>
  unified === 'length' ? 'cut' : unified === 'content-filter' ? 'filtered' : 'invalid-answer'

const finishOf = ({ unified }: End['finishReason']): Finish =>
  unified === 'length' ? 'length' : unified === 'content-filter' ? 'filtered' : 'complete'

/** Returns the counted tokens. A count of zero for an answer is that of a server which does not count. */
const tokensOf = ({ outputTokens: { total = 0 } }: End['usage']): number | null => (total > 0 ? total : null)

const textOf = (content: readonly { type: string; text?: string }[]): string =>
  content.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('')

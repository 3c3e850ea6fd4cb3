import type { ImageModelV4, LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { contentTypeOf } from './content-type.ts'
import {
  type AiProvider,
  type GenerationType,
  type ImageRequest,
  type ObjectRequest,
  type Pricing,
  ProviderError,
  type TextRequest,
} from './interface.ts'
import { jsonIn } from './json-answer.ts'
import { faultOf, isCatalogued, withRetries } from './provider-errors.ts'

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
  /** Loads the vendor's SDK, once, at the first generation. */
  load(): Promise<Vendor>
}

/**
 * Creates a provider on top of the SDK's models. The models are called without the functions of the package `ai`, whose
 * telemetry, retries and conversions would exceed the time that a request may be delayed by.
 */
export function createProvider({ models, pricing, load }: ProviderSettings): AiProvider {
  let loading: Promise<Vendor> | undefined
  const vendor = () => {
    loading ??= load().then(keepModels)
    return loading
  }

  const generate = (
    request: ObjectRequest,
    signal: AbortSignal,
    format?: LanguageModelV4CallOptions['responseFormat'],
  ) =>
    withRetries(signal, async () => {
      const { language, languageOptions = {}, schemaInPrompt = false } = await vendor()
      const asked = format ? { ...request, system: jsonSystem(request, schemaInPrompt) } : request
      return language(request.model).doGenerate({
        ...optionsOf(asked, signal),
        providerOptions: languageOptions,
        ...(format ? { responseFormat: format } : {}),
      })
    })

  return {
    models,
    pricing,

    async text(request, signal) {
      const { content, usage } = await generate(request, signal)
      const text = textOf(content)
      if (text === '') throw new ProviderError('invalid-answer')
      return { text, outputTokens: usage.outputTokens.total ?? null }
    },

    async *streamText(request, signal) {
      const { stream } = await withRetries(signal, async () =>
        (await vendor()).language(request.model).doStream(optionsOf(request, signal)),
      )
      let outputTokens: number | null = null
      let finished = false
      let empty = true
      try {
        for await (const part of stream) {
          if (part.type === 'error') throw part.error
          if (part.type === 'text-delta' && part.delta !== '') {
            empty = false
            yield part.delta
          }
          if (part.type === 'finish') {
            // The SDK also finishes streams that broke off; a raw reason exists only when the provider finished the
            // stream.
            finished = part.finishReason.raw !== undefined && part.finishReason.unified !== 'error'
            outputTokens = part.usage.outputTokens.total ?? null
          }
        }
      } catch (error) {
        throw isCatalogued(error) ? error : faultOf(error, signal)
      }
      if (empty || !finished) throw new ProviderError('invalid-answer')
      return { outputTokens }
    },

    async object(request: ObjectRequest, signal) {
      const { schema } = request
      const { content, usage, finishReason } = await generate(request, signal, {
        type: 'json',
        ...(schema ? { schema: schema as never, name: 'result' } : {}),
      })
      if (finishReason.unified === 'length') throw new ProviderError('invalid-answer')
      const object = jsonIn(textOf(content))
      if (object === undefined) throw new ProviderError('invalid-answer')
      return { object, outputTokens: usage.outputTokens.total ?? null }
    },

    async image(request, signal) {
      const { images } = await withRetries(signal, async () => {
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
      const bytes = typeof first === 'string' ? Buffer.from(first, 'base64') : first
      const contentType = bytes && contentTypeOf(bytes)
      if (!bytes || !contentType) throw new ProviderError('invalid-answer')
      return { bytes, contentType }
    },

    async close() {},
  }
}

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

const textOf = (content: readonly { type: string; text?: string }[]): string =>
  content.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('')

import Type from 'typebox'
import { Secret } from '../../core/config.ts'
import { defineDriver } from '../../core/driver.ts'
import { fetchFrom } from './fetch.ts'
import { type AiProvider, modelsOf, providerConfig } from './interface.ts'
import { createProvider } from './provider.ts'

/** Google's Gemini API. */
export default defineDriver({
  family: 'ai',
  name: 'google',
  config: Type.Object(
    {
      apiKey: Secret({ description: 'An API key of Google AI Studio.', minLength: 1 }),
      baseUrl: Type.String({
        default: 'https://generativelanguage.googleapis.com/v1beta',
        pattern: '^https?://[^\\s?#]+$',
        description: 'Address of the API.',
      }),
      ...providerConfig,
    },
    { additionalProperties: false },
  ),

  async create({ apiKey, baseUrl, models, pricing }): Promise<AiProvider> {
    return createProvider({
      models: modelsOf(models),
      pricing,
      async load() {
        const { createGoogle } = await import('@ai-sdk/google')
        const provider = createGoogle({ apiKey, baseURL: baseUrl, fetch: fetchFrom(baseUrl) })
        return {
          language: (model) => provider.languageModel(model),
          image: (model) => provider.imageModel(model),
          imageOptions: ({ aspectRatio, imageSize }) => ({
            ...(aspectRatio ? { aspectRatio: aspectRatio as `${number}:${number}` } : {}),
            providerOptions: { google: { imageConfig: { imageSize } } },
          }),
        }
      },
    })
  },
})

import { defineDriver } from '../../core/driver.ts'
import { fetchFrom } from './fetch.ts'
import { type AiProvider, hostedConfig, modelsOf } from './interface.ts'
import { createProvider } from './provider.ts'

/** Google's Gemini API. */
export default defineDriver({
  family: 'ai',
  name: 'google',
  config: hostedConfig('https://generativelanguage.googleapis.com/v1beta', 'Google AI Studio'),

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

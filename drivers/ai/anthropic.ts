import { defineDriver } from '../../core/driver.ts'
import { fetchFrom } from './fetch.ts'
import { type AiProvider, hostedConfig, modelsOf } from './interface.ts'
import { createProvider } from './provider.ts'

/** Anthropic's Messages API: texts and objects; images are for another provider (`aiImage`). */
export default defineDriver({
  family: 'ai',
  name: 'anthropic',
  config: hostedConfig('https://api.anthropic.com/v1', 'the Anthropic console'),

  async create({ apiKey, baseUrl, models, pricing }): Promise<AiProvider> {
    const { text, object } = modelsOf(models)
    return createProvider({
      models: { text, object, image: [] },
      pricing,
      async load() {
        const { createAnthropic } = await import('@ai-sdk/anthropic')
        const provider = createAnthropic({ apiKey, baseURL: baseUrl, fetch: fetchFrom(baseUrl) })
        return { language: (model) => provider.languageModel(model) }
      },
    })
  },
})

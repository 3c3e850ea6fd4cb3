import { defineDriver } from '../../core/driver.ts'
import { fetchFrom } from './fetch.ts'
import { type AiProvider, hostedConfig, type ImageRequest, modelsOf, ProviderError } from './interface.ts'
import { createProvider } from './provider.ts'
import { pixelsOf } from './size.ts'

/** OpenAI itself. */
export default defineDriver({
  family: 'ai',
  name: 'openai',
  config: hostedConfig('https://api.openai.com/v1', 'the OpenAI platform'),

  async create({ apiKey, baseUrl, models, pricing }): Promise<AiProvider> {
    return createProvider({
      models: modelsOf(models),
      pricing,
      async load() {
        const { createOpenAI } = await import('@ai-sdk/openai')
        const provider = createOpenAI({ apiKey, baseURL: baseUrl, fetch: fetchFrom(baseUrl) })
        return {
          // Chat Completions rather than Responses: those are stored over there unless one asks for the opposite.
          language: (model) => provider.chat(model),
          // A strict schema would have to be of the few that OpenAI takes as such; what comes is checked here anyway.
          languageOptions: { openai: { strictJsonSchema: false } },
          image: (model) => provider.image(model),
          imageOptions: (request) => ({ size: sizeOf(request) }),
        }
      },
    })
  },
})

/** Older models draw in three formats only. */
function sizeOf(request: ImageRequest): `${number}x${number}` {
  const { model, aspectRatio = '1:1', imageSize } = request
  const long = /^dall-e-3/.test(model) ? 1792 : /^(gpt-image-(1|2$)|chatgpt-image)/.test(model) ? 1536 : null
  if (long === null) return pixelsOf(request)
  if (imageSize !== '1K') throw new ProviderError('refused')
  const [width = 1, height = 1] = aspectRatio.split(':').map(Number)
  if (width === height) return '1024x1024'
  return width > height ? `${long}x1024` : `1024x${long}`
}

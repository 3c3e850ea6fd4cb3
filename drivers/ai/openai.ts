import { defineHostedProvider } from './hosted.ts'
import { type ImageRequest, ProviderError } from './interface.ts'
import { pixelsOf } from './size.ts'

/** OpenAI's own API. */
export default defineHostedProvider({
  name: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  keySource: 'the OpenAI platform',
  types: ['text', 'object', 'image'],

  async load(options) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    const provider = createOpenAI(options)
    return {
      // Uses Chat Completions rather than Responses, because OpenAI stores Responses by default.
      language: (model) => provider.chat(model),
      // OpenAI's strict mode supports only a subset of JSON Schema; the caller validates the result anyway.
      languageOptions: { openai: { strictJsonSchema: false } },
      image: (model) => provider.image(model),
      imageOptions: (request) => ({ size: sizeOf(request) }),
    }
  },
})

/** Returns a supported size. Older models support three formats only. */
function sizeOf(request: ImageRequest): `${number}x${number}` {
  const { model, aspectRatio = '1:1', imageSize } = request
  const long = /^dall-e-3/.test(model) ? 1792 : /^(gpt-image-(1|2$)|chatgpt-image)/.test(model) ? 1536 : null
  if (long === null) return pixelsOf(request)
  if (imageSize !== '1K') throw new ProviderError('refused')
  const [width = 1, height = 1] = aspectRatio.split(':').map(Number)
  if (width === height) return '1024x1024'
  return width > height ? `${long}x1024` : `1024x${long}`
}

import { defineHostedProvider } from './hosted.ts'
import { type ImageRequest, ProviderError } from './interface.ts'
import { pixelsOf } from './size.ts'

/** OpenAI itself. */
export default defineHostedProvider({
  name: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  keySource: 'the OpenAI platform',
  types: ['text', 'object', 'image'],

  async load(options) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    const provider = createOpenAI(options)
    return {
      // Chat Completions rather than Responses: OpenAI stores those unless one asks for the opposite.
      language: (model) => provider.chat(model),
      // A strict schema would have to be of the few that OpenAI takes as such; what comes is checked here anyway.
      languageOptions: { openai: { strictJsonSchema: false } },
      image: (model) => provider.image(model),
      imageOptions: (request) => ({ size: sizeOf(request) }),
    }
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

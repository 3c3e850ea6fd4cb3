import { defineHostedProvider } from './hosted.ts'

/**
 * Anthropic's Messages API. It generates text and objects, not images; configure another provider for those
 * (`aiImage`).
 */
export default defineHostedProvider({
  name: 'anthropic',
  baseUrl: 'https://api.anthropic.com/v1',
  keySource: 'the Anthropic console',
  types: ['text', 'object'],

  async load(options) {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    const provider = createAnthropic(options)
    return { language: (model) => provider.languageModel(model) }
  },
})

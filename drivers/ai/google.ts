import { defineHostedProvider } from './hosted.ts'

/** Google's Gemini API. */
export default defineHostedProvider({
  name: 'google',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  keySource: 'Google AI Studio',
  types: ['text', 'object', 'image'],

  async load(options) {
    const { createGoogle } = await import('@ai-sdk/google')
    const provider = createGoogle(options)
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

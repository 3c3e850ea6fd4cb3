import Type from 'typebox'
import { defineDriver } from '../../core/driver.ts'
import { type AiProvider, modelsOf, ProviderError } from './interface.ts'

/** Disables AI: nothing can be generated, and the platform reports that. */
export default defineDriver({
  family: 'ai',
  name: 'none',
  config: Type.Object({}, { additionalProperties: false }),

  async create(): Promise<AiProvider> {
    const refuse = async () => {
      throw new ProviderError('misconfigured')
    }
    return {
      models: modelsOf({}),
      pricing: {},
      text: refuse,
      // biome-ignore lint/correctness/useYield: it never comes to that
      async *streamText() {
        throw new ProviderError('misconfigured')
      },
      object: refuse,
      image: refuse,
      async close() {},
    }
  },
})

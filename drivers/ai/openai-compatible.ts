import Type from 'typebox'
import { Secret } from '../../core/config.ts'
import { defineDriver } from '../../core/driver.ts'
import { fetchFrom } from './fetch.ts'
import { type AiProvider, modelsOf, providerConfig } from './interface.ts'
import { createProvider } from './provider.ts'
import { pixelsOf } from './size.ts'

/** Any server that implements OpenAI's Chat Completions: Ollama, llama.cpp, LM Studio, vLLM, OpenRouter and others. */
export default defineDriver({
  family: 'ai',
  name: 'openai-compatible',
  config: Type.Object(
    {
      baseUrl: Type.String({
        pattern: '^https?://[^\\s?#]+$',
        description: 'Address of the API, up to `/v1`.',
        examples: ['http://localhost:11434/v1'],
      }),
      apiKey: Type.Optional(Secret({ description: 'Sent as a bearer token, if the server wants one.' })),
      structuredOutputs: Type.Boolean({
        default: true,
        description: 'Whether the server takes a JSON Schema to generate by; if not, the schema goes into the prompt.',
      }),
      ...providerConfig,
    },
    { additionalProperties: false },
  ),

  async create({ baseUrl, apiKey, structuredOutputs, models, pricing }, { clock }): Promise<AiProvider> {
    return createProvider({
      models: modelsOf(models),
      pricing,
      clock,
      async load() {
        const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
        const provider = createOpenAICompatible({
          name: 'server',
          baseURL: baseUrl.replace(/\/+$/, ''),
          ...(apiKey ? { apiKey } : {}),
          fetch: fetchFrom(baseUrl),
          includeUsage: true,
          supportsStructuredOutputs: structuredOutputs,
        })
        return {
          language: (model) => provider.chatModel(model),
          languageOptions: { server: { strictJsonSchema: false } },
          schemaInPrompt: !structuredOutputs,
          image: (model) => provider.imageModel(model),
          imageOptions: (request) => ({
            size: pixelsOf(request),
            providerOptions: { server: { response_format: 'b64_json' } },
          }),
        }
      },
    })
  },
})

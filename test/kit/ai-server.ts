import type { Test } from 'tap'
import { openaiProtocol } from '../../drivers/ai/conformance/protocols.ts'
import { type AiServer, PNG, type Script, startAiServer as start } from '../../drivers/ai/conformance/server.ts'

export { type AiServer, json, PNG, type Script } from '../../drivers/ai/conformance/server.ts'

/** Answers as an OpenAI-compatible server: the same text, streamed word by word or whole, and a one-pixel image. */
export const openai =
  (text: string, tokens = 10): Script =>
  (request, response) => {
    const answer = request.path.endsWith('/images/generations')
      ? openaiProtocol.image?.(PNG.toString('base64'))
      : request.body.stream
        ? openaiProtocol.stream(text.split(/(?<= )/), tokens)
        : openaiProtocol.text(text, tokens)
    return answer?.(request, response)
  }

/** Starts a server that ends with the test. */
export const startAiServer = (t: Pick<Test, 'teardown'>, answer = openai('Hello.')): Promise<AiServer> =>
  start(t, answer)

/** Returns the configuration section `ai` for this server. */
export const aiConfig = (server: AiServer, more: Record<string, unknown> = {}) => ({
  driver: 'openai-compatible',
  baseUrl: `${server.url}/v1`,
  apiKey: PROVIDER_KEY,
  models: { text: ['small', 'large'], image: 'painter' },
  ...more,
})

export const PROVIDER_KEY = 'sk-provider-secret-0123456789'

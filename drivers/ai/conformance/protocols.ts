import { json, type ProviderRequest, type Script, sse } from './server.ts'

/** The request, independent of the protocol. */
export interface Asked {
  model: string
  prompt: string
  system: string | undefined
  maxOutputTokens: number | undefined
  temperature: number | undefined
}

/** The requests and responses of one kind of provider. */
export interface Protocol {
  /** A complete response; with `cut`, one that ended at the token limit. */
  text(text: string, outputTokens: number, cut?: boolean): Script
  /** The same response, streamed. Without an `end` the provider closes the connection after the pieces. */
  stream(pieces: readonly string[], outputTokens: number, end?: boolean): Script
  /** A response with an image; null when the protocol has no images. */
  image: ((base64: string) => Script) | null
  asked(request: ProviderRequest): Asked
}

/** OpenAI's Chat Completions and Images, which most servers for open models also implement. */
export const openaiProtocol: Protocol = {
  text: (text, tokens, cut = false) =>
    json({
      ...COMPLETION,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: cut ? 'length' : 'stop' }],
      usage: usageOf(tokens),
    }),
  stream(pieces, tokens, end = true) {
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      data: { ...COMPLETION, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] },
    })
    const usage = { data: { ...COMPLETION, object: 'chat.completion.chunk', choices: [], usage: usageOf(tokens) } }
    return sse([
      chunk({ role: 'assistant', content: '' }),
      ...pieces.map((content) => chunk({ content })),
      ...(end ? [chunk({}, 'stop'), usage, '[DONE]'] : []),
    ])
  },
  image: (base64) => json({ created: 1, data: [{ b64_json: base64 }] }),
  asked({ body }) {
    const of = (role: string) => body.messages?.find((message: { role: string }) => message.role === role)?.content
    const { model, max_tokens, max_completion_tokens, temperature } = body
    const prompt = body.prompt ?? of('user')
    return { model, prompt, system: of('system'), maxOutputTokens: max_tokens ?? max_completion_tokens, temperature }
  },
}

const COMPLETION = { id: 'chatcmpl-1', created: 1, model: 'm' }
const usageOf = (tokens: number) => ({ prompt_tokens: 5, completion_tokens: tokens, total_tokens: 5 + tokens })

/** Anthropic's Messages. */
export const anthropicProtocol: Protocol = {
  text: (text, tokens, cut = false) =>
    json({
      ...MESSAGE,
      content: [{ type: 'text', text }],
      stop_reason: cut ? 'max_tokens' : 'end_turn',
      usage: { input_tokens: 5, output_tokens: tokens },
    }),
  stream(pieces, tokens, end = true) {
    const event = (type: string, data: object) => ({ event: type, data: { type, ...data } })
    const usage = { input_tokens: 5, output_tokens: 1 }
    return sse([
      event('message_start', { message: { ...MESSAGE, content: [], stop_reason: null, usage } }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      ...pieces.map((text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
      ...(end
        ? [
            event('content_block_stop', { index: 0 }),
            event('message_delta', {
              delta: { stop_reason: 'end_turn', stop_sequence: null },
              usage: { output_tokens: tokens },
            }),
            event('message_stop', {}),
          ]
        : []),
    ])
  },
  image: null,
  asked: ({ body }) => ({
    model: body.model,
    prompt: body.messages[0]?.content[0]?.text,
    system: body.system?.[0]?.text,
    maxOutputTokens: body.max_tokens,
    temperature: body.temperature,
  }),
}

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null }

/** Google's Gemini API. */
export const googleProtocol: Protocol = {
  text: (text, tokens, cut = false) => json(candidate([{ text }], tokens, cut ? 'MAX_TOKENS' : 'STOP')),
  stream: (pieces, tokens, end = true) =>
    sse([
      ...pieces.map((text) => ({ data: candidate([{ text }], tokens) })),
      ...(end ? [{ data: candidate([], tokens, 'STOP') }] : []),
    ]),
  image: (base64) => json(candidate([{ inlineData: { mimeType: 'image/png', data: base64 } }], 5, 'STOP')),
  asked: ({ path, body }) => ({
    model: /\/models\/([^:]+):/.exec(path)?.[1] ?? '',
    prompt: body.contents[0]?.parts[0]?.text,
    system: body.systemInstruction?.parts[0]?.text,
    maxOutputTokens: body.generationConfig?.maxOutputTokens,
    temperature: body.generationConfig?.temperature,
  }),
}

const candidate = (parts: object[], tokens: number, finishReason?: string) => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason ? { finishReason } : {}) }],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: tokens, totalTokenCount: 5 + tokens },
})

import { AnswerWithPictures, defineTools, type ToolCall } from '../tool.ts'

/** Clients give up a call without news after a minute. */
const NEWS_MS = 5000

export const aiTools = defineTools([
  {
    name: 'ai_generate',
    title: 'Generate with AI',
    route: 'POST /api/ai/generate',
    description:
      'Generates a text, an object by a JSON Schema, or a picture for a game, paid with the credits of the person. A failed or cancelled call costs nothing. The platform keeps no pictures: only a program that has the bytes, such as a script with the HTTP API, can put one into a game.',
    effect: 'adds',
    without: ['stream'],
    // A stored answer is shown in the same way.
    present: (generation) => {
      const picture = pictureOf(generation.result)
      if (!picture) return generation
      const bytes = Buffer.from(picture.b64Json, 'base64')
      const result = { contentType: picture.contentType, bytes: bytes.length }
      return new AnswerWithPictures({ ...generation, result }, [{ bytes, contentType: picture.contentType }])
    },
    call: (call, fields) =>
      withNews(call, 'generating', () =>
        call.app.ai.generate(
          { playerId: call.playerId },
          { maxOutputTokens: 4096, ...fields },
          call.signal,
          (use, made) => call.remember(use, () => JSON.stringify(made)),
        ),
      ),
  },
  {
    name: 'credits',
    title: 'Look at the credits',
    route: 'GET /api/ai/credits',
    description: 'Returns the credits and the debt of the person, and the last 20 entries of their ledger.',
    effect: 'reads',
    call: ({ app, playerId }) => app.purchases.statementOf(playerId),
  },
])

/** Reports a sign of life every few seconds during work whose progress is unknown. */
async function withNews<T>({ progress }: ToolCall, step: string, work: () => Promise<T>): Promise<T> {
  let turns = 0
  const timer = setInterval(() => {
    turns++
    progress(turns / (turns + 4), step).catch(() => {})
  }, NEWS_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

const pictureOf = (result: unknown): { b64Json: string; contentType: string } | null =>
  typeof result === 'object' && result !== null && 'b64Json' in result
    ? (result as { b64Json: string; contentType: string })
    : null

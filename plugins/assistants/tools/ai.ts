import Type from 'typebox'
import { InvalidRequest, isPlatformError, MissingScope } from '../../../core/errors.ts'
import { VISIBLE_PATTERN } from '../../../core/visible-text.ts'
import { AnswerWithPictures, defineTools, type ToolCall } from '../tool.ts'

/** Clients give up a call without news after a minute. */
const NEWS_MS = 5000

/** The scope of a call that keeps its picture, beside that of the tool. */
const KEEPS = 'assets:write'

const Kept = Type.Object(
  {
    title: Type.Optional(
      Type.String({ minLength: 1, maxLength: 120, pattern: VISIBLE_PATTERN, description: 'Default: the prompt.' }),
    ),
    visibility: Type.Optional(
      Type.Enum(['public', 'private'], { description: 'Default: private; players load public ones only.' }),
    ),
    gameId: Type.Optional(
      Type.String({ minLength: 1, maxLength: 63, description: 'A game that you make, to which it then belongs.' }),
    ),
  },
  {
    additionalProperties: false,
    description: `Only with type image: keeps the picture as an asset of yours. It takes the scope ${KEEPS}, too.`,
  },
)

export const aiTools = defineTools([
  {
    name: 'ai_generate',
    title: 'Generate with AI',
    route: 'POST /api/ai/generate',
    description:
      'Generates a text, an object by a JSON Schema, or a picture for a game, paid with the credits of the person. A failed or cancelled call costs nothing. A picture is lost after the call, unless `asset` keeps it: its `asset.id` goes into a build by `from` of deploy_files, and `asset.fileUrl` is its address.',
    effect: 'adds',
    without: ['stream'],
    also: { asset: Type.Optional(Kept) },
    answers: 'any',
    // A stored answer is shown in the same way.
    present: (generation) => {
      const picture = pictureOf(generation.result)
      if (!picture) return generation
      const bytes = Buffer.from(picture.b64Json, 'base64')
      const result = { contentType: picture.contentType, bytes: bytes.length }
      return new AnswerWithPictures({ ...generation, result }, [{ bytes, contentType: picture.contentType }])
    },
    call: async (call, { asset, ...fields }) => {
      if (asset) await mustKeep(call, fields.type, asset)
      return withNews(call, 'generating', () =>
        call.app.ai.generate(
          { playerId: call.playerId },
          { maxOutputTokens: 4096, ...fields },
          call.signal,
          (use, made) => call.remember(use, () => JSON.stringify(made)),
        ),
      )
    },
    // The picture is paid, so a refusal of the asset takes nothing away.
    follow: async ({ app, playerId }, { asset, prompt }, generation) => {
      if (!asset) return generation
      try {
        const { id, slug, fileUrl } = await app.ai.keep(playerId, generation, { prompt, ...asset })
        return { ...generation, asset: { id, slug, fileUrl } }
      } catch (error) {
        if (!isPlatformError(error) || error.statusCode >= 500) throw error
        return { ...generation, asset: null, assetError: { code: error.code, message: error.message } }
      }
    },
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

/** Checks what can be checked before the picture is paid. @throws MissingScope, InvalidRequest, NotFound of the game */
async function mustKeep({ app, principal, playerId }: ToolCall, type: string, { gameId }: { gameId?: string }) {
  if (principal.scopes !== 'all' && !principal.scopes.has(KEEPS)) throw new MissingScope(KEEPS)
  if (type !== 'image') throw new InvalidRequest('`asset` goes with type image only.')
  if (gameId !== undefined) await app.games.mustMake(playerId, gameId)
}

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

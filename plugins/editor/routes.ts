import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { InvalidRequest, PayloadTooLarge } from '../../core/errors.ts'
import { formatBytes } from '../../core/format-bytes.ts'
import { callerOf, TOKENS_AND_SESSION } from '../../core/http/auth.ts'
import { cacheControl } from '../../core/http/headers.ts'
import type { Routes } from '../../core/http/routes.ts'
import { fileHead, replyWithFile } from '../../core/http/send-file.ts'
import { BINARY } from '../../core/openapi/route-schema.ts'
import { FinalizedDeploy } from '../deploy/index.ts'
import { compare, isText } from './diff.ts'
import type { Expectation } from './drafts.ts'
import { publishDraft } from './publish.ts'
import {
  Comparison,
  ComparisonQuery,
  Draft,
  DraftChanges,
  DraftState,
  type EditorLimits,
  FileParams,
  GameParams,
  Publication,
  Rename,
  WrittenFile,
} from './schemas.ts'

const constraints = { origin: 'portal' } as const
const accepts = TOKENS_AND_SESSION
const writes = { auth: { scope: 'deployments:write', accepts } } as const
const reads = { auth: { scope: 'games:read', accepts } } as const
const tags = ['drafts']
/** A body up to this length counts as no upload, since the editor saves while somebody types. */
const SHORT_BODY = 1024 ** 2

/**
 * Files of a draft are somebody's content at the portal's address. A browser may show them as pictures and sounds, and
 * never as a document.
 */
const FILE_HEADERS = [
  'cache-control',
  cacheControl.private,
  'x-content-type-options',
  'nosniff',
  'content-security-policy',
  "sandbox; default-src 'none'",
  'accept-ranges',
  'bytes',
]

/** The API of drafts. */
export const routes =
  (limits: EditorLimits): Routes =>
  async (app) => {
    /** The game is checked before the body is read. */
    const owned = async (request: FastifyRequest) => {
      await app.drafts.mustEdit(callerOf(request).playerId, (request.params as { id: string }).id)
    }

    app.get(
      '/api/games/:id/draft',
      {
        config: reads,
        constraints,
        schema: {
          summary: 'The draft of a game: its files, and what differs from the deploy on which it is based',
          tags,
          params: GameParams,
          response: { 200: Draft },
        },
      },
      async (request) => app.drafts.get(callerOf(request).playerId, request.params.id),
    )

    app.patch(
      '/api/games/:id/draft',
      {
        config: writes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Choose the room script of a draft',
          tags,
          params: GameParams,
          body: DraftChanges,
          response: { 200: DraftState },
        },
      },
      async (request) => app.drafts.setRoom(callerOf(request).playerId, request.params.id, request.body.room),
    )

    app.delete(
      '/api/games/:id/draft',
      {
        config: writes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Throw the changes of a draft away',
          tags,
          params: GameParams,
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        await app.drafts.discard(callerOf(request).playerId, request.params.id)
        return reply.code(204).send(null)
      },
    )

    app.get(
      '/api/games/:id/draft/files/:path',
      {
        config: reads,
        constraints,
        schema: {
          summary: 'A file of the draft, with its revision as entity tag',
          tags,
          params: FileParams,
          sends: { 200: { what: 'The file, with its own media type.', types: ['*/*'] } },
        },
      },
      async (request, reply) => {
        const file = await app.drafts.file(callerOf(request).playerId, request.params.id, request.params.path)
        const head = fileHead({ etag: `"${file.sha256}"`, size: file.size, isDocument: false }, [
          ...FILE_HEADERS,
          'content-type',
          shownType(file.contentType),
        ])
        reply.header('x-draft-revision', String(file.revision))
        return replyWithFile(request, reply, head, file.open)
      },
    )

    app.delete(
      '/api/games/:id/draft/files/:path',
      {
        config: writes,
        constraints,
        onRequest: owned,
        schema: { summary: 'Remove a file', tags, params: FileParams, response: { 200: DraftState } },
      },
      async (request) => {
        const { id, path } = request.params
        return app.drafts.remove(callerOf(request).playerId, id, path, expectationOf(request))
      },
    )

    app.post(
      '/api/games/:id/draft/rename',
      {
        config: writes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Rename a file or a folder',
          tags,
          params: GameParams,
          body: Rename,
          response: { 200: DraftState },
        },
      },
      async (request) => app.drafts.rename(callerOf(request).playerId, request.params.id, request.body),
    )

    app.post(
      '/api/games/:id/draft/rebase',
      {
        config: writes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Bring the changes of a draft to the live deploy',
          tags,
          params: GameParams,
          response: { 200: Draft },
        },
      },
      async (request) => app.drafts.rebase(callerOf(request).playerId, request.params.id),
    )

    app.post(
      '/api/games/:id/draft/publish',
      {
        config: writes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Publish a draft by an ordinary deploy',
          tags,
          params: GameParams,
          body: Publication,
          response: { 200: Type.Object({ deployId: Type.String(), ...FinalizedDeploy.properties }) },
        },
      },
      async (request) => publishDraft(app, callerOf(request).playerId, request.params.id, request.body.message?.trim()),
    )

    app.get(
      '/api/games/:id/diff',
      {
        config: reads,
        constraints,
        schema: {
          summary: 'Compare two deploys of a game, or a deploy with the draft: files, with small texts',
          tags,
          params: GameParams,
          querystring: ComparisonQuery,
          response: { 200: Comparison },
        },
      },
      async (request) => compare(app, callerOf(request).playerId, request.params.id, request.query),
    )

    await app.register(async (files) => {
      takeAnyBody(files, limits)
      files.put<{ Params: { id: string; path: string } }>(
        '/api/games/:id/draft/files/:path',
        {
          config: { ...writes, upload: { maxBytes: limits.draftFileBytes, shortBytes: SHORT_BODY } },
          constraints,
          onRequest: owned,
          bodyLimit: limits.draftFileBytes,
          schema: {
            summary: 'Write a file: the body is its content, of any media type',
            consumes: ['*/*'],
            takes: BINARY,
            description:
              '`If-Match: "<revision>"` writes it only if that is its revision (0 for a file of the base), `If-None-Match: *` only if there is none. Otherwise: 409 `draft_conflict` with `revision`, `updatedAt` and `updatedBy`.',
            tags,
            params: FileParams,
            response: { 200: WrittenFile },
          },
        },
        async (request) => {
          const { id, path } = request.params
          const bytes = (request.body as Buffer | undefined) ?? Buffer.alloc(0)
          return app.drafts.write(callerOf(request).playerId, id, { path, bytes, expected: expectationOf(request) })
        },
      )
    })
  }

/** Makes a scope take bodies of every media type, unchanged. */
function takeAnyBody(app: FastifyInstance, limits: EditorLimits): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setErrorHandler((error: FastifyError) => {
    if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
      throw new PayloadTooLarge(
        `A file of a draft has at most ${formatBytes(limits.draftFileBytes)}; deploy larger ones.`,
      )
    }
    throw error
  })
}

/** Reads what the caller expects. @throws InvalidRequest when `If-Match` is no revision in quotes */
function expectationOf({ headers }: FastifyRequest): Expectation {
  const match = headers['if-match']
  const none = headers['if-none-match']
  if (match !== undefined && !/^"(?:0|[1-9][0-9]{0,9})"$/.test(match)) {
    throw new InvalidRequest('If-Match is the revision of the file in quotes, such as "3".')
  }
  if (none !== undefined && none !== '*') throw new InvalidRequest('If-None-Match is *.')
  return {
    ...(match === undefined ? {} : { revision: Number(match.slice(1, -1)) }),
    ...(none === undefined ? {} : { absent: true }),
  }
}

/** Pictures, sounds and videos keep their type, texts are plain text, and everything else is bytes. */
const shownType = (contentType: string): string =>
  /^(?:image|audio|video)\//.test(contentType)
    ? contentType
    : isText(contentType)
      ? 'text/plain; charset=utf-8'
      : 'application/octet-stream'

import type { Readable } from 'node:stream'
import multipart from '@fastify/multipart'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { InvalidRequest, NotFound } from '../../../core/errors.ts'
import { callerOf, TOKENS_AND_SESSION } from '../../../core/http/auth.ts'
import { cacheControl } from '../../../core/http/headers.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { fileHead, replyWithFile } from '../../../core/http/send-file.ts'
import { BINARY } from '../../../core/openapi/route-schema.ts'
import { BlobNotFound } from '../../../drivers/storage/interface.ts'
import { pathOf } from '../record.ts'
import { GameMedia, GameParams } from '../schemas.ts'
import { tooLarge, VIDEO_BYTES } from './inspect.ts'
import { MEDIA_TYPES } from './record.ts'

const constraints = { origin: 'portal' } as const
const auth = { scope: 'games:write', accepts: TOKENS_AND_SESSION } as const

/** The overhead of multipart. */
const ENVELOPE_BYTES = 64 * 1024
const UPLOAD = { maxBytes: VIDEO_BYTES + ENVELOPE_BYTES }

/** The routes of pictures and videos of games: upload and removal by API and by form, and the files. */
export const mediaRoutes: Routes = async (app) => {
  const limits = { fileSize: VIDEO_BYTES + 1, files: 1, fields: 4, fieldSize: 1000, parts: 5, headerPairs: 20 }
  await app.register(multipart, { limits, throwFileSizeLimit: false })

  /** Checks ownership and the announced length before any byte of the body is read. */
  const admit = async (request: FastifyRequest) => {
    const { id, slug } = request.params as { id?: string; slug?: string }
    await app.games.mustMake(callerOf(request).playerId, id ?? slug ?? '')
    if (Number(request.headers['content-length'] ?? 0) > UPLOAD.maxBytes) throw tooLarge(true)
  }

  const receive = async (request: FastifyRequest, gameId: string) => {
    if (!request.isMultipart()) throw new InvalidRequest('Send multipart/form-data with one file.')
    const part = await request.file().catch((error) => {
      throw new InvalidRequest('The form did not arrive completely.').with({ cause: error })
    })
    if (!part) throw new InvalidRequest('There is no file in this form.')
    return app.games.media.add(callerOf(request).playerId, gameId, part.file)
  }

  app.post(
    '/api/games/:id/media',
    {
      config: { auth, upload: UPLOAD },
      constraints,
      onRequest: admit,
      schema: {
        summary: 'Add a picture or video: PNG, JPEG, WebP, GIF (10 MiB), MP4, WebM (100 MiB), one file a request',
        tags: ['games'],
        consumes: ['multipart/form-data'],
        takes: { type: 'object', required: ['file'], properties: { file: BINARY } },
        params: GameParams,
        response: { 201: GameMedia },
      },
    },
    async (request, reply) => {
      reply.code(201)
      return receive(request, request.params.id)
    },
  )

  app.delete(
    '/api/games/:id/media/:mediaId',
    {
      config: { auth },
      constraints,
      onRequest: admit,
      schema: {
        summary: 'Remove a picture or video',
        tags: ['games'],
        params: Type.Object({ ...GameParams.properties, mediaId: Type.String({ maxLength: 30 }) }),
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await app.games.media.remove(callerOf(request).playerId, request.params.id, request.params.mediaId)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/games/:slug/settings/media',
    {
      config: { auth: 'session', page: true, upload: UPLOAD },
      constraints,
      onRequest: admit,
      schema: { params: Type.Object({ slug: Type.String({ maxLength: 63 }) }) },
    },
    async (request, reply) => {
      await receive(request, request.params.slug)
      return reply.redirect(`${pathOf(request.params)}/settings?saved#media`, 303)
    },
  )

  app.route({
    // Fastify's own HEAD routes would read the file to its end.
    method: ['GET', 'HEAD'],
    exposeHeadRoute: false,
    url: '/media/:gameId/:file',
    config: { auth: 'optional', quiet: true, rateLimit: false },
    constraints,
    schema: {
      hide: true,
      params: Type.Object({ gameId: Type.String({ maxLength: 30 }), file: Type.String({ maxLength: 40 }) }),
    },
    handler: async (request, reply) => {
      const [, id = '', extension] = /^(med_[0-9A-Z]{26})\.(\w+)$/.exec(request.params.file) ?? []
      const viewerId = request.principal?.playerId ?? null
      const item = await app.games.media.find(viewerId, request.params.gameId, id)
      if (extension !== MEDIA_TYPES[item.contentType]) throw new NotFound('picture or video')
      return send(request, reply, item, (range) => app.games.media.open(id, range))
    },
  })
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  item: { sha256: string; size: number; contentType: string; isPublic: boolean },
  open: (range?: { start: number; end: number }) => Promise<Readable>,
): Promise<unknown> {
  // Users made these files. Whatever type a browser assumes, nothing in them runs.
  const head = fileHead({ etag: `"${item.sha256}"`, size: item.size, isDocument: false }, [
    'content-type',
    item.contentType,
    'content-security-policy',
    "sandbox; default-src 'none'",
    'x-content-type-options',
    'nosniff',
    'cross-origin-resource-policy',
    item.isPublic ? 'cross-origin' : 'same-origin',
    'cache-control',
    item.isPublic ? cacheControl.immutable : cacheControl.private,
    'accept-ranges',
    'bytes',
  ])
  return replyWithFile(request, reply, head, (range) =>
    open(range).catch((error: unknown) => {
      throw error instanceof BlobNotFound ? new NotFound('picture or video') : error
    }),
  )
}

import type {
  FastifyContextConfig,
  FastifyError,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  preHandlerHookHandler,
} from 'fastify'
import Type from 'typebox'
import { InvalidRequest, UnsupportedMediaType } from '../../../core/errors.ts'
import { formatBytes } from '../../../core/format-bytes.ts'
import { actFor, endScope } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { BINARY } from '../../../core/openapi/route-schema.ts'
import type { Origin } from '../../../core/origins/origins.ts'
import { CONFLICT_HEADER, etagOf, isKnown, readConditions, VERSION_HEADER } from '../conditions.ts'
import { SaveTooLarge } from '../errors.ts'
import type { SaveOwner } from '../save-rows.ts'
import type { FoundInfo } from '../saves.ts'
import { Restoration, type SaveLimits, SaveList, SaveParams, VersionList, WrittenSave } from '../schemas.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose saves a request is about; set before the body is read. */
    saveOwner: SaveOwner | null
  }
}

/** The routes of saves at one site. */
export interface SaveSite {
  /** The path of the list, such as `/api/saves`. */
  path: string
  origin: Origin
  config: FastifyContextConfig
  /** The `security` of the OpenAPI document, where `config` does not say it. */
  security?: FastifySchema['security']
  /** Finds out whose saves a request is about. @throws when the caller may not use them */
  identify(request: FastifyRequest): Promise<SaveOwner>
}

const READ = new Set(['GET', 'HEAD'])
const MINUTE_MS = 60_000
/** What a save has when nobody said what it is (RFC 9110 section 8.3). */
const UNKNOWN_TYPE = 'application/octet-stream'
const LONGEST_TYPE = 255

/**
 * The answers contain data of one player, and are never documents of the game: a value may be HTML or a script that
 * somebody else wrote.
 */
const HEADERS = {
  // A proxy that transforms an answer for the network also rewrites its entity tag.
  'cache-control': 'no-store, no-transform',
  vary: 'Cookie, Authorization',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "sandbox; default-src 'none'",
}

/** List, read, write, delete, and earlier versions: the same at each site. */
export const saveRoutes =
  ({ path, origin, config, identify, security }: SaveSite, limits: SaveLimits): Routes =>
  async (app) => {
    const constraints = { origin } as const
    const described = { tags: ['saves'], ...(security ? { security } : {}) }
    app.decorateRequest('saveOwner', null)
    const date = httpDates()
    app.addHook('onRequest', (_request, reply, done) => {
      // Scripts compare times of devices, whose clocks may be wrong, with times of saves.
      reply.headers(HEADERS).header('date', date(app.clock.now()))
      done()
    })
    // A hook of the route, since it runs after the check of the route's `auth`.
    const onRequest = async (request: FastifyRequest) => {
      const owner = await identify(request)
      const isRead = READ.has(request.method)
      const most = isRead ? limits.saveReadsPerMinute : limits.saveWritesPerMinute
      await app.rateLimiter.take(`saves/${isRead}/${owner.gameId}/${owner.playerId}`, most, MINUTE_MS)
      request.saveOwner = owner
    }
    // On a game's own site the player of the game's session is the caller.
    const preHandler: preHandlerHookHandler = (request, _reply, done) => {
      if (READ.has(request.method)) return done()
      const { gameId, playerId } = ownerOf(request)
      actFor(request, { playerId, role: null }, () => {
        app.games.recheckPlay(playerId, gameId)
        done()
      })
    }
    const options = { config, constraints, onRequest, preHandler, onResponse: endScope }

    app.get(
      path,
      {
        ...options,
        schema: { summary: 'The saves of the player in this game', ...described, response: { 200: SaveList } },
      },
      async (request) => app.saves.list(ownerOf(request)),
    )

    app.route({
      // Fastify's own HEAD routes would read the value.
      method: ['GET', 'HEAD'],
      exposeHeadRoute: false,
      url: `${path}/:key`,
      ...options,
      schema: {
        summary: 'A save: the bytes as they came, with the version as entity tag',
        ...described,
        params: SaveParams,
        sends: { 200: { what: 'The save, with its own media type.', types: ['*/*'] } },
      },
      handler: async (request, reply) => {
        const [owner, { key }] = [ownerOf(request), request.params as { key: string }]
        const isHead = request.method === 'HEAD'
        if (isHead || request.headers['if-none-match'] !== undefined) {
          const info = await app.saves.info(owner, key)
          const isSame = isKnown(request.headers, info.version)
          if (isHead || isSame) return headersOf(reply, info, isSame).send()
        }
        const save = await app.saves.find(owner, key)
        // An error of the read must not have the headers of a save.
        const bytes = await save.read()
        return headersOf(reply, save).send(bytes)
      },
    })

    app.delete(
      `${path}/:key`,
      {
        ...options,
        schema: {
          summary: 'Delete a save; its versions can be restored for 30 days',
          ...described,
          params: SaveParams,
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        const { key } = request.params
        const version = await app.saves.delete(ownerOf(request), key, readConditions(request.headers))
        return reply.code(204).header(VERSION_HEADER, version).send(null)
      },
    )

    app.get(
      `${path}/:key/versions`,
      {
        ...options,
        schema: {
          summary: 'The kept versions of a save, newest first',
          ...described,
          params: SaveParams,
          response: { 200: VersionList },
        },
      },
      async (request) => {
        const { key } = request.params
        return { key, versions: await app.saves.versions(ownerOf(request), key) }
      },
    )

    app.post(
      `${path}/:key/restore`,
      {
        ...options,
        schema: {
          summary: 'Make an earlier version the newest one',
          ...described,
          params: SaveParams,
          body: Restoration,
          response: { 200: WrittenSave },
        },
      },
      async (request) => app.saves.restore(ownerOf(request), request.params.key, request.body.version),
    )

    await app.register(async (values) => {
      acceptAnyBody(values, limits)
      values.put<{ Params: { key: string } }>(
        `${path}/:key`,
        {
          ...options,
          config: {
            ...config,
            upload: {
              maxBytes: limits.saveBytes,
              shortBytes: limits.saveBytes,
              countedBy: (request: FastifyRequest) => `saves/${ownerOf(request).playerId}`,
            },
          },
          bodyLimit: limits.saveBytes,
          schema: {
            summary: 'Write a save: the body is the value, of any media type',
            consumes: ['*/*'],
            takes: BINARY,
            ...described,
            params: SaveParams,
            response: { 200: WrittenSave, 201: WrittenSave },
          },
        },
        async (request, reply) => {
          const conditions = readConditions(request.headers)
          const value = { bytes: (request.body as Buffer | undefined) ?? Buffer.alloc(0), contentType: typeOf(request) }
          const isConflict = request.headers[CONFLICT_HEADER] === '1'
          const { key } = request.params
          const { created, save } = await app.saves.put(ownerOf(request), key, value, conditions, { isConflict })
          return reply
            .code(created ? 201 : 200)
            .headers(versionHeaders(save.version))
            .send(save)
        },
      )
    })
  }

/** Returns a function that formats a time as an HTTP date, which stays the same for a second. */
function httpDates(): (now: Date) => string {
  let second = 0
  let text = ''
  return (now) => {
    const current = Math.floor(now.getTime() / 1000)
    if (current !== second) [second, text] = [current, now.toUTCString()]
    return text
  }
}

const versionHeaders = (version: number) => ({ etag: etagOf(version), [VERSION_HEADER]: version })

/** Sets what an answer says about a save, with 304 for a version that the client has. */
function headersOf(reply: FastifyReply, { version, size, contentType, updatedAt }: FoundInfo, isSame = false) {
  reply.headers(versionHeaders(version)).header('last-modified', updatedAt.toUTCString())
  reply.header('content-type', contentType)
  return isSame ? reply.code(304) : reply.header('content-length', size)
}

/** Makes a scope take bodies of every media type, unchanged. */
function acceptAnyBody(app: FastifyInstance, limits: SaveLimits): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setErrorHandler((error: FastifyError) => {
    if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') throw new SaveTooLarge(formatBytes(limits.saveBytes))
    if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
      throw new UnsupportedMediaType('The Content-Type of the save is not a media type.')
    }
    throw error
  })
}

function typeOf({ headers }: FastifyRequest): string {
  if (headers['content-encoding'] !== undefined) {
    throw new UnsupportedMediaType('Send the save without Content-Encoding: it is kept byte by byte.')
  }
  const type = headers['content-type'] ?? UNKNOWN_TYPE
  if (type.length > LONGEST_TYPE) throw new InvalidRequest(`A media type has at most ${LONGEST_TYPE} characters.`)
  return type
}

function ownerOf({ saveOwner }: FastifyRequest): SaveOwner {
  if (!saveOwner) throw new Error('A route of saves ran before its caller was known.')
  return saveOwner
}

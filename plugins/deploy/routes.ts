import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { PayloadTooLarge } from '../../core/errors.ts'
import { callerOf, TOKENS_AND_SESSION } from '../../core/http/auth.ts'
import type { Replay } from '../../core/http/idempotency.ts'
import { parseJsonInSlices } from '../../core/http/limits/json-slices.ts'
import { PageQuery } from '../../core/http/pagination.ts'
import type { Routes } from '../../core/http/routes.ts'
import type { UploadRule } from '../../core/http/uploads.ts'
import { BINARY } from '../../core/openapi/route-schema.ts'
import { missingFiles, receiveBundle } from './bundle/receive-bundle.ts'
import { BLOCK_BYTES, RECORD_BYTES } from './bundle/tar.ts'
import {
  Deploy,
  DeployChanges,
  type DeployLimits,
  DeployList,
  DeployParams,
  FinalizedDeploy,
  FinalizeQuery,
  GameParams,
  MissingFiles,
  NewDeploy,
  RollbackQuery,
  StartedDeploy,
  UploadParams,
} from './schemas.ts'
import { receive } from './uploads/receive-file.ts'
import { downloadRoute } from './zip/download-route.ts'

const constraints = { origin: 'portal' } as const
const accepts = TOKENS_AND_SESSION
const publishes = { auth: { scope: 'deployments:write', accepts } } as const
const reads = { auth: { scope: 'games:read', accepts } } as const

/** The body size for one file in the request that starts a deploy. Most files need a quarter of it. */
const BYTES_PER_FILE = 800
/** The commas and the opening brace of one file with all its fields. */
const VALUES_PER_FILE = 5
/**
 * The size up to which requests run without a concurrency limit. Most deploys, of up to some thousand files, are below.
 */
const SHORT_ANNOUNCEMENT = 1024 ** 2
/** The announcements of one caller in a minute. One of 20,000 files takes half a second of the processor. */
const ANNOUNCEMENTS_PER_MINUTE = 60
const LONG_PER_MINUTE = 12
/** The number of upload addresses that are written in one turn of the event loop. */
const UPLOADS_IN_ONE_PIECE = 500
/** The maximum number of concurrent uploads of one deploy. The CLI sends eight. */
const UPLOADS_AT_ONCE = 32
/** The maximum number of concurrent bundles of one deploy. Each has up to 8 MiB in memory. */
const BUNDLES_AT_ONCE = 2

export const routes =
  (limits: DeployLimits): Routes =>
  async (app) => {
    /** Ownership is checked before the body is read. Another player's deploy counts as not found. */
    const owned = async (request: FastifyRequest) => {
      await app.deploys.get(callerOf(request).playerId, (request.params as { deployId: string }).deployId)
    }

    await app.register(announcement(limits))
    await app.register(downloadRoute)

    app.post(
      '/api/deploy/:deployId/finalize',
      {
        config: publishes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Put all files of a deploy live at once, or open its preview',
          tags: ['deploys'],
          params: DeployParams,
          querystring: FinalizeQuery,
          response: { 200: FinalizedDeploy },
        },
      },
      async (request) => {
        return app.deploys.finalize(callerOf(request).playerId, request.params.deployId, request.query)
      },
    )

    app.post(
      '/api/deploy/:deployId/rollback',
      {
        config: publishes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Put an earlier deploy or a preview live',
          tags: ['deploys'],
          params: DeployParams,
          querystring: RollbackQuery,
          response: { 200: FinalizedDeploy },
        },
      },
      async (request) => app.deploys.rollback(callerOf(request).playerId, request.params.deployId, request.query),
    )

    app.get(
      '/api/deploy/:deployId',
      {
        config: reads,
        constraints,
        schema: { summary: 'A deploy', tags: ['deploys'], params: DeployParams, response: { 200: Deploy } },
      },
      async (request) => app.deploys.get(callerOf(request).playerId, request.params.deployId),
    )

    app.patch(
      '/api/deploy/:deployId',
      {
        config: publishes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Pin a deploy, so that it stays however many come after it, or unpin it',
          tags: ['deploys'],
          params: DeployParams,
          body: DeployChanges,
          response: { 200: Deploy },
        },
      },
      async (request) => app.deploys.pin(callerOf(request).playerId, request.params.deployId, request.body.pinned),
    )

    app.delete(
      '/api/deploy/:deployId',
      {
        config: publishes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Delete a deploy that is not live',
          tags: ['deploys'],
          params: DeployParams,
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        await app.deploys.remove(callerOf(request).playerId, request.params.deployId)
        return reply.code(204).send(null)
      },
    )

    app.get(
      '/api/games/:id/deploys',
      {
        config: reads,
        constraints,
        schema: {
          summary: 'The deploys of a game, newest first',
          tags: ['deploys'],
          params: GameParams,
          querystring: PageQuery,
          response: { 200: DeployList },
        },
      },
      async (request) => app.deploys.list(callerOf(request).playerId, request.params.id, request.query),
    )

    app.get(
      '/api/deploy/:deployId/bundle',
      {
        config: { auth: 'none' },
        constraints,
        schema: {
          summary: 'List the files that a deploy still waits for, at the signed URL of its bundle',
          tags: ['deploys'],
          params: DeployParams,
          response: { 200: MissingFiles },
        },
      },
      async (request) => ({
        missing: await missingFiles(app.deploys, request.params.deployId, request.raw.url ?? ''),
      }),
    )

    await app.register(relay(limits))
  }

/** The announcement of a deploy. The separate scope parses its body in slices. */
const announcement =
  (limits: DeployLimits): Routes =>
  async (app) => {
    parseJsonInSlices(app, {
      most: 1000 + VALUES_PER_FILE * limits.filesPerDeploy,
      refusal: () => new PayloadTooLarge(`A deploy has at most ${limits.filesPerDeploy} files.`),
    })
    const maxBytes = 65_536 + BYTES_PER_FILE * limits.filesPerDeploy
    // A long answer is not stored: its addresses are signed again.
    const replay: Replay = async (answer, request) => {
      const { deployId } = JSON.parse(answer) as { deployId: string }
      const started = await app.deploys.resume(callerOf(request).playerId, deployId)
      return { type: 'application/json; charset=utf-8', payload: Readable.from(startedText(started)) }
    }

    app.post(
      '/api/deploy',
      {
        config: {
          ...publishes,
          idempotent: { replay },
          rateLimit: { max: ANNOUNCEMENTS_PER_MINUTE, timeWindow: 60_000 },
          upload: { maxBytes, shortBytes: SHORT_ANNOUNCEMENT, longPerMinute: LONG_PER_MINUTE },
        },
        constraints,
        bodyLimit: maxBytes,
        schema: {
          summary: 'Begin a deploy: announce its files; the answer lists the required uploads',
          tags: ['deploys'],
          body: NewDeploy,
          response: { 200: StartedDeploy },
        },
      },
      async (request, reply) => {
        const started = await app.deploys.start(callerOf(request).playerId, request.body)
        await app.rememberAnswer(request, app.db, () => JSON.stringify({ deployId: started.deployId }))
        if (started.uploads.length <= UPLOADS_IN_ONE_PIECE) return started
        return reply.type('application/json; charset=utf-8').send(Readable.from(startedText(started)) as never)
      },
    )
  }

/** Yields the text of a long answer, some addresses in each turn of the event loop. */
async function* startedText({ uploads, ...started }: StartedDeploy): AsyncGenerator<string> {
  yield `${JSON.stringify(started).slice(0, -1)},"uploads":[`
  for (let start = 0; start < uploads.length; start += UPLOADS_IN_ONE_PIECE) {
    await nextTurn()
    const some = JSON.stringify(uploads.slice(start, start + UPLOADS_IN_ONE_PIECE)).slice(1, -1)
    yield start === 0 ? some : `,${some}`
  }
  yield ']}'
}

/** The separate scope leaves a body of any type on the socket until the handler reads it. */
const relay =
  (limits: DeployLimits): Routes =>
  async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
    const upload: UploadRule = {
      maxBytes: limits.deployFileBytes,
      atOnce: UPLOADS_AT_ONCE,
      countedBy: ({ params }) => `deploy/${(params as { deployId: string }).deployId}`,
    }

    app.put(
      '/api/deploy/:deployId/files/:sha256',
      {
        // The address itself is signed, and a build has more files than the rate limit allows requests.
        config: { auth: 'none', rateLimit: false, quiet: true, upload },
        constraints,
        schema: {
          summary: 'Upload a file to a signed URL of a deploy',
          consumes: ['*/*'],
          takes: BINARY,
          tags: ['deploys'],
          params: UploadParams,
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        const { deployId, sha256 } = request.params
        await receive(
          { deploys: app.deploys, storage: app.storage, limits },
          { deployId, sha256, url: request.raw.url ?? '', body: request.raw },
        )
        return reply.code(204).send(null)
      },
    )

    const bundle: UploadRule = {
      maxBytes: limits.deployBytes + 2 * BLOCK_BYTES * limits.filesPerDeploy + RECORD_BYTES,
      atOnce: BUNDLES_AT_ONCE,
      countedBy: ({ params }) => `bundle/${(params as { deployId: string }).deployId}`,
    }

    app.put(
      '/api/deploy/:deployId/bundle',
      {
        config: { auth: 'none', rateLimit: false, quiet: true, upload: bundle },
        constraints,
        schema: {
          summary: 'Upload many files in a tar archive to the signed URL of a deploy; each is named by its SHA-256',
          consumes: ['application/x-tar'],
          takes: BINARY,
          tags: ['deploys'],
          params: DeployParams,
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        const { deployId } = request.params
        await receiveBundle(app.deploys, { deployId, url: request.raw.url ?? '', body: request.raw })
        return reply.code(204).send(null)
      },
    )
  }

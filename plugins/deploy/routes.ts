import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../core/auth.ts'
import { PageQuery } from '../../core/pagination.ts'
import type { Routes } from '../../core/routes.ts'
import { receive } from './receive.ts'
import {
  Deploy,
  type DeployLimits,
  DeployList,
  DeployParams,
  FinalizedDeploy,
  FinalizeQuery,
  GameParams,
  NewDeploy,
  StartedDeploy,
  UploadParams,
} from './schemas.ts'

const constraints = { origin: 'portal' } as const
// The portal's own pages call these too, with the browser session.
const accepts = ['api-token', 'cli-token', 'session'] as const
const publishes = { auth: { scope: 'deployments:write', accepts } } as const
const reads = { auth: { scope: 'games:read', accepts } } as const

/** Room for one file in the body that starts a deploy; most take a quarter of it. */
const BYTES_PER_FILE = 800

export const routes =
  (limits: DeployLimits): Routes =>
  async (app) => {
    /** Another's deploy is none, whatever the body says: so before it is read. */
    const owned = async (request: FastifyRequest) => {
      await app.deploys.get(callerOf(request).playerId, (request.params as { deployId: string }).deployId)
    }

    app.post(
      '/api/deploy',
      {
        config: { ...publishes, idempotent: true },
        constraints,
        bodyLimit: 65_536 + BYTES_PER_FILE * limits.filesPerDeploy,
        schema: {
          summary: 'Begin a deploy: announce its files, learn which bytes are wanted',
          tags: ['deploys'],
          body: NewDeploy,
          response: { 200: StartedDeploy },
        },
      },
      async (request) => app.deploys.start(callerOf(request).playerId, request.body),
    )

    app.post(
      '/api/deploy/:deployId/finalize',
      {
        config: publishes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Put a deploy live, all of it at once, or open its preview',
          tags: ['deploys'],
          params: DeployParams,
          querystring: FinalizeQuery,
          response: { 200: FinalizedDeploy },
        },
      },
      async (request) => app.deploys.finalize(callerOf(request).playerId, request.params.deployId, request.query),
    )

    app.post(
      '/api/deploy/:deployId/rollback',
      {
        config: publishes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Put a deploy live that was live before, or a preview',
          tags: ['deploys'],
          params: DeployParams,
          response: { 200: FinalizedDeploy },
        },
      },
      async (request) => app.deploys.rollback(callerOf(request).playerId, request.params.deployId),
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

    await app.register(relay(limits))
  }

/** In a scope of its own, where a body of whatever type is left on the socket until the handler takes it. */
const relay =
  (limits: DeployLimits): Routes =>
  async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))

    app.put(
      '/api/deploy/:deployId/files/:sha256',
      {
        // The address itself is signed; a build has more files than a caller may make requests.
        config: { auth: 'none', rateLimit: false, quiet: true, upload: true },
        constraints,
        schema: {
          summary: 'Upload a file to an address that the start of a deploy gave',
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
  }

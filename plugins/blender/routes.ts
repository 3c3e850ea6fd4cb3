import type { FastifyRequest } from 'fastify'
import { callerOf, TOKENS_AND_SESSION } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { StarterList } from './catalog/starters.ts'
import { versionDifferences } from './catalog/version-differences.ts'
import { sendArtifact } from './jobs/send-artifact.ts'
import {
  ACTIONS,
  ARTIFACTS,
  ArtifactList,
  ArtifactParams,
  Capabilities,
  Generation,
  Health,
  Job,
  JobList,
  JobParams,
  JobQuery,
  jobBytes,
  LogQuery,
  NewAction,
  NewGeneration,
  NewJob,
  TemplateList,
} from './schemas.ts'

const constraints = { origin: 'studio' } as const
// The portal's pages call these routes too, with the browser session.
const accepts = TOKENS_AND_SESSION
const reads = { auth: { scope: 'assets:read', accepts } } as const
const submits = { auth: { scope: 'assets:generate', accepts } } as const
const cancels = { auth: { scope: 'assets:write', accepts } } as const
const tags = ['blender']

/** The API of Blender jobs (specification, "Blender worker API"). */
export const routes: Routes = async (app) => {
  const { blender } = app
  /** Ownership is checked before the body is read. Another player's job counts as not found. */
  const owned = async (request: FastifyRequest) => {
    await blender.get(callerOf(request).playerId, (request.params as { id: string }).id)
  }

  app.get(
    '/api/blender/health',
    {
      config: reads,
      constraints,
      schema: { summary: 'Whether and where Blender jobs run', tags, response: { 200: Health } },
    },
    async () => blender.health(),
  )

  app.get(
    '/api/blender/v1/capabilities',
    {
      config: reads,
      constraints,
      schema: { summary: 'The options and limits of jobs', tags, response: { 200: Capabilities } },
    },
    async (): Promise<Capabilities> => {
      const { executor, blenderVersion } = await blender.health()
      const { limits } = blender
      return {
        blenderVersion,
        versionDifferences: versionDifferences(),
        version: 'v1',
        executor,
        actions: [...ACTIONS],
        inputs: NewJob as unknown as Record<string, unknown>,
        artifacts: [...ARTIFACTS],
        limits: {
          scriptBytes: limits.blenderScriptBytes,
          queuedPerOwner: limits.blenderQueuedPerOwner,
          runningPerOwner: limits.blenderRunningPerOwner,
          timeoutSeconds: limits.blenderTimeoutSeconds,
          maxFaces: limits.blenderMaxFaces,
          artifactBytes: limits.blenderArtifactBytes,
        },
      }
    },
  )

  app.get(
    '/api/blender/v1/templates',
    { config: reads, constraints, schema: { summary: 'Scenes to begin with', tags, response: { 200: TemplateList } } },
    async () => ({ templates: blender.templates.list() }),
  )

  app.get(
    '/api/blender/v1/library',
    { config: reads, constraints, schema: { summary: 'Parts to begin with', tags, response: { 200: StarterList } } },
    async () => ({ starters: blender.library.list() }),
  )

  app.get(
    '/api/blender/v1/library/:id',
    {
      config: reads,
      constraints,
      schema: {
        summary: 'The program that makes a part',
        tags,
        params: JobParams,
        sends: { 200: { what: 'The program.', types: ['text/x-python'] } },
      },
    },
    async (request, reply) => {
      const program = blender.library.program(request.params.id)
      reply.header('cache-control', 'private, max-age=3600')
      reply.header('x-content-type-options', 'nosniff')
      return reply.type('text/x-python; charset=utf-8').send(program)
    },
  )

  app.get(
    '/api/blender/v1/jobs',
    {
      config: reads,
      constraints,
      schema: { summary: 'Your jobs, newest first', tags, querystring: JobQuery, response: { 200: JobList } },
    },
    async (request) => blender.list(callerOf(request).playerId, request.query),
  )

  app.post(
    '/api/blender/v1/jobs',
    {
      config: submits,
      constraints,
      bodyLimit: jobBytes(blender.limits),
      schema: { summary: 'Queue a job', tags, body: NewJob, response: { 202: Job } },
    },
    async (request, reply) => reply.code(202).send(await blender.submit(callerOf(request).playerId, request.body)),
  )

  app.get(
    '/api/blender/v1/jobs/:id',
    { config: reads, constraints, schema: { summary: 'A job', tags, params: JobParams, response: { 200: Job } } },
    async (request) => blender.get(callerOf(request).playerId, request.params.id),
  )

  app.post(
    '/api/blender/v1/jobs/:id/cancel',
    {
      config: cancels,
      constraints,
      onRequest: owned,
      schema: { summary: 'Cancel a job that waits or runs', tags, params: JobParams, response: { 200: Job } },
    },
    async (request) => blender.cancel(callerOf(request).playerId, request.params.id),
  )

  app.post(
    '/api/blender/v1/jobs/:id/actions',
    {
      config: submits,
      constraints,
      onRequest: owned,
      bodyLimit: jobBytes(blender.limits),
      schema: {
        summary: 'Queue further work on a completed job',
        tags,
        params: JobParams,
        body: NewAction,
        response: { 202: Job },
      },
    },
    async (request, reply) =>
      reply.code(202).send(await blender.act(callerOf(request).playerId, request.params.id, request.body)),
  )

  app.get(
    '/api/blender/v1/jobs/:id/events',
    {
      config: reads,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'A job as server-sent events, until it is over',
        description:
          'A stream ends after two minutes. Reconnect with the same credential, as EventSource does. A caller with twenty open streams gets 429 `too_many_streams` until one is closed.',
        tags,
        params: JobParams,
        sends: { 200: { what: 'The events.', types: ['text/event-stream'] } },
      },
    },
    async (request, reply) =>
      app.eventStreams.send(reply, blender.stream(callerOf(request).playerId, request.params.id)),
  )

  app.get(
    '/api/blender/v1/jobs/:id/log',
    {
      config: reads,
      constraints,
      schema: {
        summary: 'The output of a job, once its run is over',
        description: 'The last 65,536 characters of what Blender and the script printed; empty until then.',
        tags,
        params: JobParams,
        querystring: LogQuery,
        sends: { 200: { what: 'Lines of text.', types: ['text/plain'] } },
      },
    },
    async (request, reply) => {
      const log = await blender.log(callerOf(request).playerId, request.params.id, request.query.tail)
      return reply.header('x-content-type-options', 'nosniff').type('text/plain; charset=utf-8').send(log)
    },
  )

  app.get(
    '/api/blender/v1/jobs/:id/artifacts',
    {
      config: reads,
      constraints,
      schema: { summary: 'The files of a job', tags, params: JobParams, response: { 200: ArtifactList } },
    },
    async (request) => ({ artifacts: (await blender.get(callerOf(request).playerId, request.params.id)).artifacts }),
  )

  app.get(
    '/api/blender/v1/jobs/:id/artifacts/:name',
    {
      config: reads,
      constraints,
      schema: {
        summary: 'One file of a job',
        tags,
        params: ArtifactParams,
        sends: { 200: { what: 'The file, with its own media type; single ranges are served.', types: ['*/*'] } },
      },
    },
    async (request, reply) => {
      const { id, name } = request.params
      return sendArtifact(request, reply, await blender.openArtifact(callerOf(request).playerId, id, name))
    },
  )

  app.post(
    '/api/generations',
    {
      config: { ...submits, idempotent: true },
      constraints,
      bodyLimit: jobBytes(blender.limits),
      schema: { summary: 'Have an asset made', tags, body: NewGeneration, response: { 202: Generation } },
    },
    async (request, reply) =>
      reply.code(202).send(await app.generatedAssets.start(callerOf(request).playerId, request.body)),
  )

  app.get(
    '/api/generations/:id',
    {
      config: reads,
      constraints,
      schema: { summary: 'How far an asset is', tags, params: JobParams, response: { 200: Generation } },
    },
    async (request) => app.generatedAssets.get(callerOf(request).playerId, request.params.id),
  )
}

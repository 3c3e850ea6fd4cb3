import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { InvalidRequest, isPlatformError } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import { PageQuery } from '../../../core/http/pagination.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { extendPolicy } from '../../../core/http/security-headers.ts'
import { renderPage } from '../../../core/pages/index.ts'
import { gameOf, gamesToChoose, STAGE_SCRIPT, VIEWER_POLICY } from '../../assets/index.ts'
import { sendArtifact } from '../jobs/send-artifact.ts'
import { ArtifactParams, JobParams, jobBytes } from '../schemas.ts'
import { jobPage, showsModel } from './job-page.ts'
import { listPage, UNKNOWN } from './list-page.ts'
import { fieldsFrom, newJobPage, parametersFrom } from './new-job-page.ts'

const own = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const
/** The script that turns fields for scripts into editors. */
const SCRIPT_FIELD = 'script-field.js'
const Fields = Type.Record(Type.String(), Type.String())

/** A player's Blender jobs, on the portal. */
export const pages: Routes = async (app) => {
  const { blender } = app
  const editor = () => app.browserFiles.url('script-editor.js')
  /** Ownership is checked before the body is read. Another player's job counts as not found. */
  const owned = async (request: FastifyRequest) => {
    await blender.get(callerOf(request).playerId, (request.params as { id: string }).id)
  }

  app.get('/blender', { ...own, schema: { querystring: PageQuery } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const [list, health] = await Promise.all([blender.list(playerId, request.query), blender.health()])
    return renderPage(reply, {
      title: 'Blender jobs',
      user: viewer,
      body: listPage({ ...list, health, templates: blender.templates.list(), cursor: request.query.cursor }),
    })
  })

  const Query = Type.Object({
    template: Type.Optional(Type.String({ maxLength: 40 })),
    from: Type.Optional(Type.String({ maxLength: 40, description: 'A job to begin from as it was submitted.' })),
    game: Type.Optional(Type.String({ maxLength: 63, description: 'The slug of the game that is chosen at first.' })),
  })
  app.get('/blender/new', { ...own, schema: { querystring: Query } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const { from, game } = request.query
    const job = from === undefined ? null : await blender.get(playerId, from)
    const { choices: games, chosen } = await gamesToChoose(app, playerId, game)
    const values: Record<string, string> = job
      ? fieldsFrom(job, (await blender.text(playerId, job.id)).script)
      : chosen
        ? { gameId: chosen }
        : {}
    const template = blender.templates.find(job?.template ?? request.query.template ?? '')
    const shown = { template, starters: blender.library.list(), values, problem: undefined, editor: editor(), games }
    return renderPage(reply, {
      title: 'New Blender job',
      user: viewer,
      scripts: [SCRIPT_FIELD],
      body: newJobPage(shown),
    })
  })

  const submission = { ...own, bodyLimit: jobBytes(blender.limits), schema: { querystring: Query, body: Fields } }
  app.post('/blender/new', submission, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const template = blender.templates.find(request.query.template ?? '')
    const { name = '', script = '', starter = '', gameId = '' } = request.body
    try {
      if (!name.trim()) throw new InvalidRequest('Give it a name.')
      const job = await blender.submit(playerId, {
        name,
        ...(template ? { template: template.id, parameters: parametersFrom(template, request.body) } : {}),
        ...(script.trim() ? { script: script.replaceAll('\r\n', '\n') } : {}),
        ...(starter ? { starterAssets: [starter] } : {}),
        ...(gameId ? { gameId } : {}),
      })
      return reply.redirect(`/blender/jobs/${job.id}`, 303)
    } catch (error) {
      if (!isPlatformError(error)) throw error
      const shown = {
        template,
        starters: blender.library.list(),
        values: request.body,
        problem: error.message,
        editor: editor(),
        games: (await gamesToChoose(app, playerId)).choices,
      }
      return renderPage(reply, {
        title: 'New Blender job',
        user: viewer,
        status: error.statusCode,
        scripts: [SCRIPT_FIELD],
        body: newJobPage(shown),
      })
    }
  })

  app.get('/blender/jobs/:id', { ...own, schema: { params: JobParams } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const { id } = request.params
    const [job, text, inspection] = await Promise.all([
      blender.get(playerId, id),
      blender.text(playerId, id),
      blender.inspection(playerId, id),
    ])
    const active = job.status === 'queued' || job.status === 'running'
    const stage = showsModel(job)
    const by = job.ownerId === playerId ? null : await app.identity.players.namesOf([job.ownerId])
    if (stage) extendPolicy(reply, VIEWER_POLICY)
    return renderPage(reply, {
      title: job.name,
      user: viewer,
      scripts: active ? ['blender-job.js'] : [...(stage ? [STAGE_SCRIPT] : []), SCRIPT_FIELD],
      body: jobPage(app, {
        job,
        ...text,
        inspection,
        keepDays: blender.limits.blenderKeepDays,
        game: await gameOf(app, playerId, job),
        by: by && (by.get(job.ownerId) ?? UNKNOWN),
      }),
    })
  })

  app.get('/blender/jobs/:id/events', { ...own, schema: { params: JobParams } }, async (request, reply) => {
    const { playerId } = callerOf(request)
    await blender.get(playerId, request.params.id)
    return app.eventStreams.send(reply, blender.stream(playerId, request.params.id))
  })

  app.get('/blender/jobs/:id/files/:name', { ...own, schema: { params: ArtifactParams } }, async (request, reply) => {
    const { id, name } = request.params
    return sendArtifact(request, reply, await blender.openArtifact(callerOf(request).playerId, id, name))
  })

  app.post('/blender/jobs/:id/cancel', { ...own, schema: { params: JobParams } }, async (request, reply) => {
    await blender.cancel(callerOf(request).playerId, request.params.id)
    return reply.redirect(`/blender/jobs/${request.params.id}`, 303)
  })

  app.post(
    '/blender/jobs/:id/revise',
    { ...own, onRequest: owned, bodyLimit: jobBytes(blender.limits), schema: { params: JobParams, body: Fields } },
    async (request, reply) => {
      const script = (request.body.script ?? '').replaceAll('\r\n', '\n')
      const { playerId } = callerOf(request)
      const job = await blender.act(playerId, request.params.id, {
        action: 'revise',
        ...(script.trim() ? { script } : {}),
      })
      return reply.redirect(`/blender/jobs/${job.id}`, 303)
    },
  )
}

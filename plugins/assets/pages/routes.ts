import multipart from '@fastify/multipart'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { Spool } from '../../../core/data/spool.ts'
import { isPlatformError, NotFound } from '../../../core/errors.ts'
import { actorOf, adminPage, callerOf } from '../../../core/http/auth.ts'
import { drainBody } from '../../../core/http/drain-body.ts'
import { bodyWithText } from '../../../core/http/limits/body-limits.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { extendPolicy } from '../../../core/http/security-headers.ts'
import { renderPage } from '../../../core/pages/index.ts'
import type { Limits } from '../limits.ts'
import { type AssetRecord, pathOf } from '../record.ts'
import { AssetQuery, DESCRIPTION_LENGTH } from '../schemas.ts'
import { uploadForms, uploadRule } from '../upload/limits.ts'
import { checkLength, receive } from '../upload/receive.ts'
import { titleOf } from '../upload/title.ts'
import { assetPage } from './asset.ts'
import { type AssetForm, EditForm, editPage, formOf, readEdit } from './edit.ts'
import { assetsOf, gamePages } from './game-assets.ts'
import { gameOf, gamesFor, gamesToChoose } from './game-choice.ts'
import { library } from './library.ts'
import { STAGE_SCRIPT, VIEWER_POLICY } from './stage.ts'
import { uploadPage } from './upload.ts'

const constraints = { origin: 'portal' } as const
const open = { config: { auth: 'optional', page: true }, constraints } as const
const own = { config: { auth: 'session', page: true }, constraints } as const
const PER_PAGE = 24

const { q, kind, tag, license, rigged, cursor } = AssetQuery.properties
const Browse = Type.Object({ q, kind, tag, license, rigged, cursor })
const NewQuery = Type.Object({ game: Type.Optional(Type.String({ maxLength: 63 })) })
const Slug = Type.Object({ slug: Type.String({ maxLength: 63 }) })

interface EditProps {
  asset: AssetRecord
  form: AssetForm
  problems?: Parameters<typeof editPage>[3]
  status?: number
}

/** The portal's pages about assets. */
export const pages =
  ({ spool, limits }: { spool: Spool; limits: Limits }): Routes =>
  async (app) => {
    const { assets } = app
    await app.register(multipart, uploadForms(limits))
    await app.register(gamePages)

    app.get('/assets', { ...open, schema: { querystring: Browse } }, async (request, reply) => {
      const [page, tags, licenses] = await Promise.all([
        assets.library.page({ ...request.query, limit: PER_PAGE }, null, { files: false }),
        assets.library.tags(),
        assets.library.licenses(),
      ])
      return renderPage(reply, {
        title: 'Assets',
        current: '/assets',
        description: 'Models, packs, pictures and sounds that any game may link to.',
        user: request.principal?.viewer,
        body: library({ title: 'Assets', path: '/assets', ...page, tags, licenses, query: request.query }),
      })
    })

    app.get('/assets/mine', { ...own, schema: { querystring: Browse } }, async (request, reply) => {
      const { playerId, viewer } = callerOf(request)
      const page = await assets.library.page({ ...request.query, limit: PER_PAGE }, playerId, { files: false })
      return renderPage(reply, {
        title: 'My assets',
        current: '/assets/mine',
        user: viewer,
        body: library({
          title: 'My assets',
          path: '/assets/mine',
          ...page,
          tags: [],
          licenses: [],
          query: request.query,
        }),
      })
    })

    app.get('/assets/new', { ...own, schema: { querystring: NewQuery } }, async (request, reply) => {
      const { playerId } = callerOf(request)
      const { choices, chosen } = await gamesToChoose(app, playerId, request.query.game)
      return renderPage(reply, {
        title: 'Upload an asset',
        current: '/assets/mine',
        user: callerOf(request).viewer,
        scripts: ['asset-upload.js'],
        narrow: true,
        body: uploadPage(choices, chosen),
      })
    })

    app.post(
      '/assets/new',
      {
        config: { auth: 'session', page: true, upload: uploadRule(limits) },
        constraints,
        onRequest: (request) => checkLength(request, limits),
        schema: { hide: true },
      },
      async (request, reply) => {
        const { playerId } = callerOf(request)
        const scripted = /\bapplication\/json\b/.test(request.headers.accept ?? '')
        try {
          const made = await receive(request, { spool, limits }, (fields, file) =>
            assets.create(playerId, { ...fields, title: titleOf(fields, file.name) }, file),
          )
          if (!scripted) return reply.redirect(pathOf(made), 303)
          return reply.code(201).send({ page: pathOf(made) })
        } catch (error) {
          if (!isPlatformError(error)) throw error
          await drainBody(request.raw)
          if (!scripted) throw error
          const { code, message, details = [] } = error
          return reply.code(error.statusCode).send({ error: { code, message, details } })
        }
      },
    )

    app.get('/assets/:slug', { ...open, schema: { params: Slug } }, async (request, reply) => {
      extendPolicy(reply, VIEWER_POLICY)
      const viewer = request.principal?.viewer
      const asset = await assets.find(request.params.slug, request.principal?.playerId ?? null)
      if (!asset) throw new NotFound('asset')
      const playerId = request.principal?.playerId ?? null
      const owned = playerId === asset.ownerId
      const made = await assets.access.may(playerId, asset, 'make')
      const game = await gameOf(app, playerId, asset)
      const owner = await app.identity.players.find(asset.ownerId)
      return renderPage(reply, {
        title: asset.title,
        current: owned ? '/assets/mine' : '/assets',
        description: asset.description.slice(0, 160) || `A ${asset.kind} that any game may link to.`,
        user: viewer,
        scripts: [STAGE_SCRIPT],
        body: assetPage(app, {
          asset,
          applied: await assets.clips.of(asset.id),
          ownerName: owner?.name ?? null,
          owned,
          made,
          game: game && { title: game.title, href: assetsOf(game) },
          isAdmin: viewer?.isAdmin ?? false,
          moderates: viewer !== undefined && viewer.role !== 'player',
        }),
      })
    })

    /** What the viewer may do is checked before the body is read. Another player's asset counts as not found. */
    const made = async (request: FastifyRequest) => {
      await assets.mustMake(callerOf(request).playerId, (request.params as { slug: string }).slug)
    }
    const owned = async (request: FastifyRequest) => {
      await assets.mustOwn(callerOf(request).playerId, (request.params as { slug: string }).slug)
    }
    const edit = async (
      request: FastifyRequest,
      reply: FastifyReply,
      { asset, form, problems, status = 200 }: EditProps,
    ) => {
      const { playerId, viewer } = callerOf(request)
      const choices = { games: await gamesFor(app, playerId, asset), owned: playerId === asset.ownerId }
      return renderPage(reply, {
        title: `Edit ${asset.title}`,
        current: '/assets/mine',
        user: viewer,
        narrow: true,
        status,
        body: editPage(asset, form, choices, problems),
      })
    }
    app.get('/assets/:slug/edit', { ...own, onRequest: made, schema: { params: Slug } }, async (request, reply) => {
      const asset = await assets.get(request.params.slug)
      return edit(request, reply, { asset, form: formOf(asset) })
    })
    app.post(
      '/assets/:slug/edit',
      {
        ...own,
        onRequest: made,
        bodyLimit: bodyWithText(DESCRIPTION_LENGTH),
        schema: { params: Slug, body: EditForm },
      },
      async (request, reply) => {
        const read = readEdit(request.body)
        const asset = await assets.get(request.params.slug)
        if ('problems' in read)
          return edit(request, reply, { asset, form: { ...formOf(asset), ...request.body }, ...read, status: 400 })
        try {
          const changed = await assets.changes.update(callerOf(request).playerId, request.params.slug, read.changes)
          return reply.redirect(pathOf(changed), 303)
        } catch (error) {
          if (!isPlatformError(error) || error.statusCode === 404) throw error
          const problems = { form: error.message }
          return edit(request, reply, {
            asset,
            form: { ...formOf(asset), ...request.body },
            problems,
            status: error.statusCode,
          })
        }
      },
    )
    for (const [verb, visibility] of [
      ['publish', 'public'],
      ['unpublish', 'private'],
    ] as const) {
      app.post(
        `/assets/:slug/${verb}`,
        { ...own, onRequest: made, schema: { params: Slug } },
        async (request, reply) => {
          const asset = await assets.changes.update(callerOf(request).playerId, request.params.slug, { visibility })
          return reply.redirect(pathOf(asset), 303)
        },
      )
    }
    app.post('/assets/:slug/delete', { ...own, onRequest: owned, schema: { params: Slug } }, async (request, reply) => {
      await assets.changes.remove(callerOf(request).playerId, request.params.slug)
      return reply.redirect('/assets/mine', 303)
    })
    for (const verb of ['curate', 'release'] as const) {
      app.post(`/admin/assets/:slug/${verb}`, { ...adminPage, schema: { params: Slug } }, async (request, reply) => {
        const asset = await assets.changes.curate(request.params.slug, verb === 'curate', actorOf(request))
        return reply.redirect(pathOf(asset), 303)
      })
    }
  }

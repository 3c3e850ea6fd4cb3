import multipart from '@fastify/multipart'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../core/auth.ts'
import { MissingScope, NotFound, Unauthorized } from '../../core/errors.ts'
import { cacheControl } from '../../core/http.ts'
import { readOut } from '../../core/read-out.ts'
import type { Routes } from '../../core/routes.ts'
import type { Spool } from '../../core/spool.ts'
import type { Limits } from './limits.ts'
import { clipUrl, manifestOf } from './manifest.ts'
import { Asset, AssetChanges, AssetList, AssetManifest, AssetParams, AssetQuery, Clip, NewClip } from './schemas.ts'
import { CORS } from './serving/headers.ts'
import { viewerOf } from './serving/routes.ts'
import { uploadForms } from './upload/limits.ts'
import { checkLength, receive } from './upload/receive.ts'
import { titleOf } from './upload/title.ts'

const constraints = { origin: 'studio' } as const
// The portal's own pages call these too, with the browser session, where Studio and portal are one origin.
const writes = { auth: { scope: 'assets:write', accepts: ['api-token', 'cli-token', 'session'] } } as const

/** Assets by API: list, upload, read, change, publish, delete. */
export const routes =
  ({ spool, limits }: { spool: Spool; limits: Limits }): Routes =>
  async (app) => {
    await app.register(multipart, uploadForms(limits))

    /** Another's asset is none, whatever the body says: so before it is read. */
    const owned = async (request: FastifyRequest) => {
      await app.assets.mustOwn(callerOf(request).playerId, (request.params as { id: string }).id)
    }

    /** @throws NotFound */
    const found = async (request: FastifyRequest, reply: FastifyReply) => {
      const asset = await app.assets.find((request.params as { id: string }).id, viewerOf(request))
      if (!asset) throw new NotFound('asset')
      const isPublic = asset.visibility === 'public'
      if (isPublic || request.principal?.kind !== 'session') reply.headers(CORS)
      reply.header('cache-control', isPublic ? cacheControl.revalidate : 'private, no-store')
      return asset
    }

    app.get(
      '/api/assets',
      {
        config: { auth: 'optional' },
        constraints,
        schema: {
          summary: 'Public assets, newest first; with `owner=me` all of your own',
          tags: ['assets'],
          querystring: AssetQuery,
          response: { 200: AssetList },
        },
      },
      async (request, reply) => {
        const { owner, ...query } = request.query
        if (owner === undefined) {
          reply.headers(CORS)
          return app.assets.library.page(query)
        }
        const { principal } = request
        if (!principal) {
          const headers = { 'www-authenticate': 'Bearer' }
          throw new Unauthorized('Send an API token: `Authorization: Bearer svc_api_…`.').with({ headers })
        }
        if (viewerOf(request) === null) {
          const headers = { 'www-authenticate': 'Bearer error="insufficient_scope", scope="assets:read"' }
          throw new MissingScope('assets:read').with({ headers })
        }
        return app.assets.library.page(query, principal.playerId)
      },
    )

    app.post(
      '/api/assets',
      {
        config: { ...writes, upload: true },
        constraints,
        onRequest: async (request) => checkLength(request, limits),
        schema: {
          summary: 'Upload a file: a glTF binary, a picture, a sound, or a ZIP archive, which becomes a pack',
          description:
            'Fields of the form: `file`, `title`, `description`, `kind`, `visibility` (private by default), `license` (SPDX), `tags`.',
          tags: ['assets'],
          consumes: ['multipart/form-data'],
          response: { 201: Asset },
        },
      },
      async (request, reply) => {
        const { playerId } = callerOf(request)
        const made = await receive(request, { spool, limits }, (fields, file) =>
          app.assets.create(playerId, { ...fields, title: titleOf(fields, file.name) }, file),
        ).catch(async (error: unknown) => {
          await readOut(request.raw)
          throw error
        })
        reply.code(201).header('cache-control', 'no-store')
        return made
      },
    )

    app.get(
      '/api/assets/:id',
      {
        config: { auth: 'optional', ownSecurityHeaders: true },
        constraints,
        schema: { summary: 'An asset', tags: ['assets'], params: AssetParams, response: { 200: Asset } },
      },
      async (request, reply) => {
        return found(request, reply)
      },
    )

    app.get(
      '/api/assets/:id/manifest',
      {
        config: { auth: 'optional', ownSecurityHeaders: true },
        constraints,
        schema: {
          summary: 'What a program loads an asset by: addresses, sizes and digests of its variants, files and clips',
          tags: ['assets'],
          params: AssetParams,
          response: { 200: AssetManifest },
        },
      },
      async (request, reply) => {
        return manifestOf(await found(request, reply))
      },
    )

    app.patch(
      '/api/assets/:id',
      {
        config: writes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Change what is said of an asset; its files never change',
          tags: ['assets'],
          params: AssetParams,
          body: AssetChanges,
          response: { 200: Asset },
        },
      },
      async (request) => app.assets.changes.update(callerOf(request).playerId, request.params.id, request.body),
    )

    for (const [verb, visibility] of [
      ['publish', 'public'],
      ['unpublish', 'private'],
    ] as const) {
      app.post(
        `/api/assets/:id/${verb}`,
        {
          config: writes,
          constraints,
          onRequest: owned,
          schema: {
            summary: visibility === 'public' ? 'Let everybody have an asset' : 'Keep an asset to yourself',
            tags: ['assets'],
            params: AssetParams,
            response: { 200: Asset },
          },
        },
        async (request) => app.assets.changes.update(callerOf(request).playerId, request.params.id, { visibility }),
      )
    }

    app.post(
      '/api/assets/:id/animations',
      {
        config: writes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Make a clip for a rigged model, so that it is there when it is first asked for',
          tags: ['assets'],
          params: AssetParams,
          body: NewClip,
          response: { 201: Clip },
        },
      },
      async (request, reply) => {
        const { preset } = request.body
        const asset = await app.assets.mustOwn(callerOf(request).playerId, request.params.id)
        const { size } = await app.assets.clips.get(asset, preset)
        reply.code(201)
        return { preset, size, url: clipUrl(asset, preset) }
      },
    )

    app.delete(
      '/api/assets/:id',
      {
        config: writes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Delete an asset; nobody else gets its address',
          tags: ['assets'],
          params: AssetParams,
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        await app.assets.changes.remove(callerOf(request).playerId, request.params.id)
        return reply.code(204).send(null)
      },
    )
  }

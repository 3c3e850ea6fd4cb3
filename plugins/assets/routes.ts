import multipart from '@fastify/multipart'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { Spool } from '../../core/data/spool.ts'
import { APPEAL_LENGTH } from '../../core/data/staff/suspensions.ts'
import { missingScopes, NotFound } from '../../core/errors.ts'
import { authRequirementOf, callerOf, TOKENS_AND_SESSION, unauthorized } from '../../core/http/auth.ts'
import { hideFromOtherOrigins } from '../../core/http/cors.ts'
import { drainBody } from '../../core/http/drain-body.ts'
import { cacheControl } from '../../core/http/headers.ts'
import { bodyWithText } from '../../core/http/limits/body-limits.ts'
import type { Routes } from '../../core/http/routes.ts'
import { BINARY } from '../../core/openapi/route-schema.ts'
import type { Limits } from './limits.ts'
import { manifestOf } from './manifest.ts'
import {
  Asset,
  AssetChanges,
  AssetList,
  AssetManifest,
  AssetParams,
  AssetQuery,
  Clip,
  ClipOf,
  DESCRIPTION_LENGTH,
  NewClip,
  UploadFields,
} from './schemas.ts'
import { cors, PREFLIGHT } from './serving/headers.ts'
import { viewerOf } from './serving/routes.ts'
import { uploadForms, uploadRule } from './upload/limits.ts'
import { checkLength, receive } from './upload/receive.ts'
import { titleOf } from './upload/title.ts'

const constraints = { origin: 'studio' } as const
// The portal's own pages call these routes with the browser session if Studio and portal share one origin.
const writes = { auth: { scope: 'assets:write', accepts: TOKENS_AND_SESSION } } as const

/** The form of an upload, for the document. */
const FORM = { type: 'object', required: ['file'], properties: { file: BINARY, ...UploadFields.properties } }

/** The API of assets: list, upload, read, change, publish, delete. */
export const routes =
  ({ spool, limits }: { spool: Spool; limits: Limits }): Routes =>
  async (app) => {
    await app.register(multipart, uploadForms(limits))

    /** What the caller may do is checked before the body is read. Another player's asset counts as not found. */
    const owned = async (request: FastifyRequest) => {
      await app.assets.mustOwn(callerOf(request).playerId, (request.params as { id: string }).id)
    }
    const made = async (request: FastifyRequest) => {
      await app.assets.mustMake(callerOf(request).playerId, (request.params as { id: string }).id)
    }

    /** @throws NotFound */
    const found = async (request: FastifyRequest, reply: FastifyReply) => {
      const asset = await app.assets.find((request.params as { id: string }).id, viewerOf(request))
      const isPublic = asset?.visibility === 'public'
      if (!isPublic && (!asset || request.principal?.kind === 'session')) hideFromOtherOrigins(reply)
      if (!asset) throw new NotFound('asset')
      reply.header('cache-control', isPublic ? cacheControl.revalidate : 'private, no-store')
      return asset
    }

    app.get(
      '/api/assets',
      {
        config: { auth: 'optional', cors },
        constraints,
        schema: {
          summary:
            'Public assets, newest first; with `owner=me` all of your own, with `gameId` those of a game that you make',
          tags: ['assets'],
          querystring: AssetQuery,
          response: { 200: AssetList },
        },
      },
      async (request, reply) => {
        const { query } = request
        if (query.owner === undefined && query.gameId === undefined) return app.assets.list(null, query)
        const { principal } = request
        if (principal?.kind === 'session') hideFromOtherOrigins(reply)
        if (!principal) throw unauthorized(request, authRequirementOf('optional'))
        if (viewerOf(request) === null) throw missingScopes(['assets:read'])
        return app.assets.list(principal.playerId, query)
      },
    )

    app.options(
      '/api/assets',
      { config: { auth: 'none', cors }, constraints, schema: { hide: true } },
      async (_request, reply) => reply.code(204).headers(PREFLIGHT).send(),
    )

    app.post(
      '/api/assets',
      {
        config: { ...writes, upload: uploadRule(limits) },
        constraints,
        onRequest: (request) => checkLength(request, limits),
        schema: {
          summary: 'Upload a file: a glTF binary, a picture, a sound, or a ZIP archive, which becomes a pack',
          description: 'Private by default. `tags` are one field, separated by commas or spaces, or several.',
          tags: ['assets'],
          consumes: ['multipart/form-data'],
          takes: FORM,
          response: { 201: Asset },
        },
      },
      async (request, reply) => {
        const { playerId } = callerOf(request)
        const asset = await receive(request, { spool, limits }, (fields, file) =>
          app.assets.create(playerId, { ...fields, title: titleOf(fields, file.name) }, file),
        ).catch(async (error: unknown) => {
          await drainBody(request.raw)
          throw error
        })
        reply.code(201).header('cache-control', 'no-store')
        return asset
      },
    )

    app.get(
      '/api/assets/:id',
      {
        config: { auth: 'optional', cors, ownSecurityHeaders: true },
        constraints,
        schema: { summary: 'An asset', tags: ['assets'], params: AssetParams, response: { 200: Asset } },
      },
      async (request, reply) => {
        return app.assets.shownTo(viewerOf(request), await found(request, reply))
      },
    )

    app.get(
      '/api/assets/:id/manifest',
      {
        config: { auth: 'optional', cors, ownSecurityHeaders: true },
        constraints,
        schema: {
          summary: 'The manifest of an asset: addresses, sizes and digests of its variants, files and clips',
          tags: ['assets'],
          params: AssetParams,
          response: { 200: AssetManifest },
        },
      },
      async (request, reply) => {
        const asset = await found(request, reply)
        return manifestOf(asset, await app.assets.clips.of(asset.id))
      },
    )

    app.patch(
      '/api/assets/:id',
      {
        config: writes,
        constraints,
        onRequest: made,
        bodyLimit: bodyWithText(DESCRIPTION_LENGTH),
        schema: {
          summary: 'Change the metadata of an asset; its files never change',
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
          onRequest: made,
          schema: {
            summary: visibility === 'public' ? 'Publish an asset' : 'Make an asset private',
            tags: ['assets'],
            params: AssetParams,
            response: { 200: Asset },
          },
        },
        async (request) => app.assets.changes.update(callerOf(request).playerId, request.params.id, { visibility }),
      )
    }

    app.post(
      '/api/assets/:id/appeal',
      {
        config: writes,
        constraints,
        onRequest: owned,
        schema: {
          summary: 'Answer the suspension of an asset, once',
          tags: ['assets'],
          params: AssetParams,
          body: Type.Object({ text: Type.String({ minLength: 1, maxLength: APPEAL_LENGTH }) }),
          response: { 200: Asset },
        },
      },
      async (request) =>
        app.assets.suspensions.appeal(callerOf(request).playerId, request.params.id, request.body.text),
    )

    app.post(
      '/api/assets/:id/animations',
      {
        config: writes,
        constraints,
        onRequest: made,
        schema: {
          summary: 'Give a rigged model a clip: a preset, or a clip of another asset',
          description:
            'With `preset`, the server makes the clip now rather than at its first request. With `from` and `clip`, a clip of an asset that you may see is put on the model, whatever its bones are called: a humanoid’s on any humanoid, another’s where the bones have the same names. It stays with the model.',
          tags: ['assets'],
          params: AssetParams,
          body: NewClip,
          response: { 201: Clip },
        },
      },
      async (request, reply) => {
        reply.code(201)
        return app.assets.animate(callerOf(request).playerId, request.params.id, request.body)
      },
    )

    app.delete(
      '/api/assets/:id/animations',
      {
        config: writes,
        constraints,
        onRequest: made,
        schema: {
          summary: 'Remove a clip of another asset from a model',
          tags: ['assets'],
          params: AssetParams,
          querystring: ClipOf,
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        const { from, clip } = request.query
        const asset = await app.assets.mustMake(callerOf(request).playerId, request.params.id)
        await app.assets.clips.remove(asset, from, clip)
        return reply.code(204).send(null)
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

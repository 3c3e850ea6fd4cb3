import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { InvalidRequest, NotFound } from '../../../core/errors.ts'
import { hideFromOtherOrigins } from '../../../core/http/cors.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { Suspended } from '../errors.ts'
import type { AssetRecord } from '../record.ts'
import { AssetParams, ClipParams, ClipQuery, Variant } from '../schemas.ts'
import { drawnThumbnail } from '../thumbnail.ts'
import type { AssetBlobRef, Audience } from './delivery.ts'
import { fastPathHandler } from './fast-path.ts'
import { cors, PREFLIGHT, type Surface } from './headers.ts'

const FileQuery = Type.Object({
  variant: Type.Optional(Variant),
  path: Type.Optional(
    Type.String({ maxLength: 512, description: 'A file of a pack; without it, the whole as a ZIP.' }),
  ),
})
type FileQuery = { variant?: Variant; path?: string }

const FileOfPackParams = Type.Object({
  ...AssetParams.properties,
  '*': Type.String({ maxLength: 512, description: 'The path in the pack.' }),
})

const FILE = { 200: { what: 'The file, with its own media type; single ranges are served.', types: ['*/*'] } }
const THUMBNAIL = { 200: { what: 'The picture.', types: ['image/png', 'image/svg+xml'] } }
const ANIMATED = { 200: { what: 'The model.', types: ['model/gltf-binary'] } }

const PICTURE = { contentType: 'image/png', variant: null }
const DRAWN = {
  'content-type': 'image/svg+xml',
  'content-security-policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'",
  'x-content-type-options': 'nosniff',
}

/**
 * Returns the viewer. A token requires `assets:read`; a browser session counts only for requests of the portal's own
 * pages.
 */
export function viewerOf(request: FastifyRequest): string | null {
  const { principal } = request
  if (!principal) return null
  return principal.scopes === 'all' || principal.scopes.has('assets:read') ? principal.playerId : null
}

/** Returns the requested asset and how its response may be shared. @throws NotFound */
async function seen(
  request: FastifyRequest,
  reply: FastifyReply,
  door: Surface,
): Promise<{ asset: AssetRecord; audience: Audience }> {
  const { id } = request.params as { id: string }
  const asset = await request.server.assets.find(id, viewerOf(request))
  const byToken = request.principal !== null && request.principal.kind !== 'session'
  const shared = asset !== null && (asset.visibility === 'public' || byToken)
  if (!shared) hideFromOtherOrigins(reply)
  if (!asset) throw new NotFound('asset')
  // The owner sees the page of a suspended asset, but nobody sees its files.
  if (asset.suspended) throw new Suspended()
  return { asset, audience: { door, shared } }
}

/**
 * Files of assets: hot-linked from the Studio's origin by anybody, or requested by the portal's own pages with the
 * owner's browser session. To other callers a private asset does not exist.
 */
export const fileRoutes: Routes = async (app) => {
  const file = (door: Surface) => async (request: FastifyRequest, reply: FastifyReply) => {
    const { asset, audience } = await seen(request, reply, door)
    const { variant, path } = request.query as FileQuery
    if (asset.kind === 'pack') {
      if (path === undefined) await app.assets.delivery.sendZip(request.raw, reply, { asset, audience })
      else await app.assets.delivery.send(request.raw, reply, { asset, audience, piece: fileIn(asset, path) })
      return reply
    }
    if (path !== undefined && path !== asset.files[0]?.path) {
      throw new InvalidRequest('This asset is one file, not a pack; leave `path` out.')
    }
    const piece = app.assets.choose(asset, variant ?? 'auto')
    await app.assets.delivery.send(request.raw, reply, { asset, audience, piece })
    return reply
  }

  const fileOfPack = async (request: FastifyRequest, reply: FastifyReply) => {
    const { asset, audience } = await seen(request, reply, 'studio')
    const piece = fileIn(asset, (request.params as { '*': string })['*'])
    await app.assets.delivery.send(request.raw, reply, { asset, audience, piece })
    return reply
  }

  const thumbnail = (door: Surface) => async (request: FastifyRequest, reply: FastifyReply) => {
    const { asset, audience } = await seen(request, reply, door)
    const { thumbnailSha256: sha256 } = asset
    const [file] = asset.files
    if (sha256 === null && asset.kind === 'image' && file && isSmallPicture(file)) {
      const piece = { ...app.assets.choose(asset, 'source'), variant: null }
      await app.assets.delivery.send(request.raw, reply, { asset, audience, piece })
      return reply
    }
    if (sha256 === null) {
      reply.headers({
        ...DRAWN,
        'cache-control': asset.visibility === 'public' ? 'public, max-age=60' : 'private, no-store',
      })
      return drawnThumbnail(asset)
    }
    const piece = { ...(await app.assets.sizeOf(asset.id, sha256)), ...PICTURE, name: `${asset.slug}.png` }
    await app.assets.delivery.send(request.raw, reply, { asset, audience, piece })
    return reply
  }

  const animation = (door: Surface) => async (request: FastifyRequest, reply: FastifyReply) => {
    const { asset, audience } = await seen(request, reply, door)
    const { preset } = request.params as { preset: string }
    const { from } = request.query as { from?: string }
    const { clips } = app.assets
    const piece = from === undefined ? await clips.get(asset, preset) : await clips.applied(asset, from, preset)
    await app.assets.delivery.send(request.raw, reply, { asset, audience, piece })
    return reply
  }

  const preflight = async (request: FastifyRequest, reply: FastifyReply) => {
    const { audience } = await seen(request, reply, 'studio')
    return reply
      .code(204)
      .headers(audience.shared ? PREFLIGHT : {})
      .send()
  }

  app.fastPath.install('/api/assets/:id/file', fastPathHandler(app, 'studio'))
  const shared = { auth: 'optional', cors, quiet: true, rateLimit: false, ownSecurityHeaders: true } as const
  for (const [door, origin, base] of [
    ['studio', 'studio', '/api/assets'],
    ['page', 'portal', '/assets'],
  ] as const) {
    app.route({
      // Fastify's own HEAD routes would read the file to its end.
      method: ['GET', 'HEAD'],
      exposeHeadRoute: false,
      url: `${base}/:id/file`,
      config: shared,
      constraints: { origin },
      schema: {
        ...(door === 'studio'
          ? {
              summary: 'The hosted file, for hot-linking; `X-Service-Variant` says which variant',
              tags: ['assets'],
              sends: FILE,
            }
          : { hide: true }),
        params: AssetParams,
        querystring: FileQuery,
      },
      handler: file(door),
    })
    app.route({
      method: ['GET', 'HEAD'],
      exposeHeadRoute: false,
      url: `${base}/:id/thumbnail`,
      config: shared,
      constraints: { origin },
      schema: {
        ...(door === 'studio'
          ? { summary: 'A picture of an asset', tags: ['assets'], sends: THUMBNAIL }
          : { hide: true }),
        params: AssetParams,
      },
      handler: thumbnail(door),
    })
    app.route({
      method: ['GET', 'HEAD'],
      exposeHeadRoute: false,
      url: `${base}/:id/animation/:preset`,
      // Creating a clip takes time, so these requests count against the rate limit.
      config: { auth: 'optional', cors, quiet: true, ownSecurityHeaders: true },
      constraints: { origin },
      schema: {
        ...(door === 'studio'
          ? {
              summary:
                'The rigged model with a clip: idle, walk, run, jump, wave, dance, sit or death; with `from`, one that was put on it',
              tags: ['assets'],
              sends: ANIMATED,
            }
          : { hide: true }),
        params: ClipParams,
        querystring: ClipQuery,
      },
      handler: animation(door),
    })
  }
  app.route({
    method: ['GET', 'HEAD'],
    exposeHeadRoute: false,
    url: '/api/assets/:id/files/*',
    config: shared,
    constraints: { origin: 'studio' },
    schema: {
      summary: 'A file of a pack by its path, so that models find the files that they refer to',
      tags: ['assets'],
      sends: FILE,
      params: FileOfPackParams,
    },
    handler: fileOfPack,
  })
  for (const [origin, base, addresses] of [
    ['studio', '/api/assets', ['', '/file', '/files/*', '/manifest', '/thumbnail', '/animation/:preset']],
    ['portal', '/assets', ['/file', '/thumbnail', '/animation/:preset']],
  ] as const) {
    for (const address of addresses) {
      app.options(
        `${base}/:id${address}`,
        { config: shared, constraints: { origin }, schema: { hide: true } },
        preflight,
      )
    }
  }
}

/** Whether a picture is shown by every browser and can be its own thumbnail until a smaller one exists. */
const isSmallPicture = ({ contentType, size }: { contentType: string; size: number }): boolean =>
  /^image\/(?:png|jpeg|webp|gif)$/.test(contentType) && size <= 1024 * 1024

/** Returns a file of a pack. @throws NotFound */
export function fileIn(asset: AssetRecord, path: string): AssetBlobRef {
  const file = asset.files.find((candidate) => candidate.path === path)
  if (!file) throw new NotFound('file in this pack')
  return { ...file, name: path.split('/').at(-1) as string, variant: 'source' as const }
}

import Type from 'typebox'
import { NotFound } from '../../core/errors.ts'
import type { Routes } from '../../core/http/routes.ts'
import { cors, fileInPack, firstLookAtAssets, gameExtension, PREFLIGHT } from '../assets/index.ts'
import { refuseServiceWorker } from './edge.ts'

const FileParams = Type.Object({ file: Type.String({ maxLength: 70 }) })
const PackParams = Type.Object({ file: Type.String({ maxLength: 63 }), '*': Type.String({ maxLength: 512 }) })
const FileQuery = Type.Object({ variant: Type.Optional(Type.Enum(['auto', 'source', 'lod'])) })

/**
 * `/__service/assets/{id-or-slug}.{extension}`: public models (`glb`), pictures and sounds (`png`, `mp3`, …) at the
 * game's own address, so that a game needs no other origin.
 * `/__service/assets/{id-or-slug}/{path}`: the files of public packs. Pages of every origin may read them, and the error responses too. Credentials are ignored, so a private asset is 404.
 */
export const assetRoutes: Routes = async (app) => {
  const shared = { config: { auth: 'none', cors, quiet: true }, constraints: { origin: 'game' } } as const
  app.fastPath.install('/__service/assets/:file', firstLookAtAssets(app, 'proxy'))
  app.addHook('onRequest', refuseServiceWorker)
  app.route({
    // Fastify's own HEAD routes would read the file to its end.
    method: ['GET', 'HEAD'],
    exposeHeadRoute: false,
    url: '/__service/assets/:file',
    ...shared,
    schema: { hide: true, params: FileParams, querystring: FileQuery },
    handler: async (request, reply) => {
      const { file } = request.params as { file: string }
      const { variant = 'auto' } = request.query as { variant?: 'auto' | 'source' | 'lod' }
      const [, name = '', extension = ''] = /^([\w-]+)\.(\w+)$/.exec(file) ?? []
      const asset = name === '' ? null : await app.assets.find(name, null)
      if (!asset || extension !== gameExtension(asset)) throw new NotFound('asset')
      const piece = app.assets.choose(asset, variant)
      await app.assets.delivery.send(request.raw, reply, { asset, piece, audience: { door: 'proxy', shared: true } })
      return reply
    },
  })
  app.route({
    method: ['GET', 'HEAD'],
    exposeHeadRoute: false,
    url: '/__service/assets/:file/*',
    ...shared,
    schema: { hide: true, params: PackParams },
    handler: async (request, reply) => {
      const { file, '*': path } = request.params as { file: string; '*': string }
      const asset = await app.assets.find(file, null)
      if (asset?.kind !== 'pack') throw new NotFound('asset')
      const piece = fileInPack(asset, path)
      await app.assets.delivery.send(request.raw, reply, { asset, piece, audience: { door: 'proxy', shared: true } })
      return reply
    },
  })
  for (const [url, params] of [
    ['/__service/assets/:file', FileParams],
    ['/__service/assets/:file/*', PackParams],
  ] as const) {
    app.options(url, { ...shared, schema: { hide: true, params } }, async (_request, reply) =>
      reply.code(204).headers(PREFLIGHT).send(),
    )
  }
}

import type { FastifyInstance } from 'fastify'
import type { FastPathHandler } from '../../../core/http/fast-path.ts'
import { sendFromMemory } from '../../../core/http/send-file.ts'
import { gameExtension } from '../record.ts'
import type { Variant } from '../schemas.ts'
import type { Surface } from './headers.ts'

const ADDRESSES = {
  studio: /^\/api\/assets\/(?<name>[\w-]{1,63})\/file(?:\?variant=(?<variant>auto|source|lod))?$/,
  proxy: /^\/__service\/assets\/(?<name>[\w-]{1,63})\.(?<extension>\w{2,5})(?:\?variant=(?<variant>auto|source|lod))?$/,
}
const PREFIXES = { studio: '/api/assets/', proxy: '/__service/assets/' }

/**
 * The fast path of the file routes (core/http/fast-path.ts), for a public asset that is one file and in memory. The
 * response does not depend on the caller.
 */
export function fastPathHandler(
  { origins, assets }: Pick<FastifyInstance, 'origins' | 'assets'>,
  door: Exclude<Surface, 'page'>,
): FastPathHandler {
  const prefix = PREFIXES[door]
  const address = ADDRESSES[door]
  const audience = { door, shared: true }
  return (request, response) => {
    const { method, url = '', headers } = request
    if (!url.startsWith(prefix) || (method !== 'GET' && method !== 'HEAD')) return false
    const { kind } = origins.of(request)
    if (door === 'proxy' ? kind !== 'game' : kind !== 'studio' && !(kind === 'portal' && origins.shared)) return false
    if (headers.upgrade !== undefined) return false
    if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) return false
    if (headers['service-worker'] !== undefined) return false
    const { name = '', variant = 'auto', extension } = address.exec(url)?.groups ?? {}
    const asset = name === '' ? undefined : assets.peek(name)
    if (asset?.visibility !== 'public' || asset.suspended || asset.kind === 'pack') return false
    if (door === 'proxy' && gameExtension(asset) !== extension) return false
    const ready = assets.delivery.ready(asset, assets.choose(asset, variant as Variant), audience)
    if (!ready) return false
    sendFromMemory(request, response, ready)
    return true
  }
}

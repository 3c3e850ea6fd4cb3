import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib'
import compress from '@fastify/compress'
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify'
import type { Origin } from '../origins/origins.ts'
import { chooseEncoding } from './headers.ts'

/** A smaller response fits into one packet anyway. */
const THRESHOLD_BYTES = 1024
/** Up to this size synchronous compression is faster than a hand-over to another thread. */
const AT_ONCE_BYTES = 64 * 1024
/** The compressible content types of these routes, except event streams. */
const TYPES = /^(?:text\/(?:html|plain)|application\/(?:[a-z.]+\+)?(?:json|xml))(?:;|$)/

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Enables compression of a text response on a route that is no page and has no response schema. */
    text?: boolean
  }
}

/**
 * Compresses the pages, JSON and text of portal and Studio with zstd, brotli or gzip, as the client accepts. Routes
 * that serve files compress them themselves where it pays; a game's files are compressed in advance.
 *
 * Responses with `no-store` are not compressed: they may contain a secret, and the size of a compressed response leaks
 * content to an attacker who can have some of it repeated there (BREACH; docs/security-model.md). Error pages are
 * `no-store` for another reason and compress themselves (error-handler.ts). A route sets `compress: false` when its
 * responses never exceed a kilobyte or are compressed in advance.
 *
 * Called before any route, and after every other hook that reads the text of a response.
 */
export async function installCompression(app: FastifyInstance): Promise<void> {
  app.addHook('onRoute', (route) => {
    const { origin } = (route.constraints ?? {}) as { origin?: Origin }
    const { response } = (route.schema ?? {}) as { response?: object }
    const says = route.config?.page || route.config?.text || response !== undefined
    if (!says || (origin !== 'portal' && origin !== 'studio')) route.compress ??= false
    if (route.compress !== false) route.onSend = [...[route.onSend ?? []].flat(), prepare]
  })
  await app.register(compress, {
    globalDecompression: false,
    encodings: ['zstd', 'br', 'gzip'],
    threshold: THRESHOLD_BYTES,
    syncThreshold: AT_ONCE_BYTES,
    customTypes: TYPES,
  })
}

/** Decides about compression before the library does. */
const prepare: onSendHookHandler = (request, reply, payload, done) => {
  if (String(reply.getHeader('cache-control') ?? '').includes('no-store')) {
    // This request header disables the library's compression.
    request.headers['x-no-compression'] = 'no-store'
    return done(null, payload)
  }
  // A route that sends a compressed body sets all headers itself.
  if (reply.hasHeader('content-encoding')) return done(null, payload)
  varyByEncoding(reply)
  const etag = reply.getHeader('etag')
  // A strong entity tag must not name several encodings (RFC 9110 section 8.8.1), so the tag becomes weak.
  if (typeof etag === 'string' && etag.startsWith('"')) reply.header('etag', `W/${etag}`)
  done(null, payload)
}

/** Adds `Vary` to uncompressed responses too, so that caches keep the encodings apart. */
function varyByEncoding(reply: FastifyReply): void {
  const vary = reply.getHeader('vary')
  if (vary === undefined) reply.header('vary', 'accept-encoding')
  else if (!/accept-encoding|\*/i.test(String(vary))) reply.header('vary', `${vary}, accept-encoding`)
}

const FORMS = [
  { coding: 'zstd', compress: (text: string) => zstdCompressSync(text) },
  {
    coding: 'br',
    compress: (text: string) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  },
  { coding: 'gzip', compress: (text: string) => gzipSync(text) },
] as const

/** Compresses a short text for the client, for responses outside of routes. Sets the encoding headers. */
export function compressed(request: FastifyRequest, reply: FastifyReply, text: string): string | Buffer {
  varyByEncoding(reply)
  const form = chooseEncoding(request.headers['accept-encoding'] as string | undefined, FORMS)
  if (!form || Buffer.byteLength(text) < THRESHOLD_BYTES) return text
  reply.header('content-encoding', form.coding)
  return form.compress(text)
}

import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ifRangeHolds, matchesEtag, parseRange } from '../../core/http.ts'
import type { Range } from '../../drivers/storage/interface.ts'
import { RangeNotSatisfiable } from './errors.ts'
import type { Artifact } from './schemas.ts'

/**
 * Answers with a file that a script may have made: never as something that a browser would run.
 * @throws RangeNotSatisfiable
 */
export async function sendArtifact(
  request: Pick<FastifyRequest, 'headers' | 'method'>,
  reply: Pick<FastifyReply, 'code' | 'header' | 'send'>,
  { artifact, read }: { artifact: Artifact; read(range?: Range): Promise<Readable> },
): Promise<FastifyReply> {
  const etag = `"${artifact.sha256}"`
  reply.header('etag', etag)
  reply.header('cache-control', 'private, no-cache')
  reply.header('accept-ranges', 'bytes')
  reply.header('x-content-type-options', 'nosniff')
  reply.header('content-security-policy', "sandbox; default-src 'none'")
  if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send()
  const asked = ifRangeHolds(request.headers['if-range'] as string | undefined, etag)
    ? request.headers.range
    : undefined
  const range = parseRange(asked, artifact.size)
  if (range === 'unsatisfiable')
    throw new RangeNotSatisfiable(artifact.size).with({ headers: { 'content-range': `bytes */${artifact.size}` } })
  reply.header('content-type', artifact.contentType)
  reply.header(
    'content-disposition',
    `${artifact.name === 'preview.png' ? 'inline' : 'attachment'}; filename="${artifact.name}"`,
  )
  if (range) {
    reply.code(206)
    reply.header('content-range', `bytes ${range.start}-${range.end}/${artifact.size}`)
  }
  reply.header('content-length', range ? range.end - range.start + 1 : artifact.size)
  if (request.method === 'HEAD') return reply.send()
  return reply.send(await read(range ?? undefined))
}

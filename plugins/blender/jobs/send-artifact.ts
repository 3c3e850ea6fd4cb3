import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { fileHead, planResponse } from '../../../core/http/send-file.ts'
import type { Range } from '../../../drivers/storage/interface.ts'
import type { Artifact } from '../schemas.ts'

/** Sends an untrusted file or a range of it, never with a type that a browser would execute. */
export async function sendArtifact(
  { raw }: Pick<FastifyRequest, 'raw'>,
  reply: Pick<FastifyReply, 'code' | 'header' | 'send'>,
  { artifact, read }: { artifact: Artifact; read(range?: Range): Promise<Readable> },
): Promise<FastifyReply> {
  const { name, size, sha256, contentType } = artifact
  const head = fileHead({ etag: `"${sha256}"`, size, isDocument: false }, [
    ...['content-type', contentType],
    ...['content-disposition', `${name === 'preview.png' ? 'inline' : 'attachment'}; filename="${name}"`],
    ...['cache-control', 'private, no-cache'],
    ...['accept-ranges', 'bytes'],
    ...['x-content-type-options', 'nosniff'],
    ...['content-security-policy', "sandbox; default-src 'none'"],
  ])
  const { status, headers, bytes } = planResponse(raw, head)
  // The file is opened before anything is sent, so that a missing file gives an error response.
  const body = bytes === null ? nothing(raw, status) : await read(bytes === 'all' ? undefined : bytes)
  for (let at = 0; at < headers.length; at += 2) reply.header(headers[at] as string, headers[at + 1])
  return reply.code(status).send(body)
}

/** Fastify sends `content-length: 0` for a HEAD without a stream. */
const nothing = ({ method }: FastifyRequest['raw'], status: number): Readable | undefined =>
  method === 'HEAD' && status === 200 ? Readable.from([]) : undefined

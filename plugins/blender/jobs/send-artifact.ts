import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { cacheControl } from '../../../core/http/headers.ts'
import { fileHead, replyWithFile } from '../../../core/http/send-file.ts'
import type { Range } from '../../../drivers/storage/interface.ts'
import type { Artifact } from '../schemas.ts'

/** Sends an untrusted file or a range of it, never with a type that a browser would execute. */
export async function sendArtifact(
  request: Pick<FastifyRequest, 'raw'>,
  reply: Pick<FastifyReply, 'code' | 'header' | 'send'>,
  { artifact, read }: { artifact: Artifact; read(range?: Range): Promise<Readable> },
): Promise<FastifyReply> {
  const { name, size, sha256, contentType } = artifact
  const head = fileHead({ etag: `"${sha256}"`, size, isDocument: false }, [
    'content-type',
    contentType,
    'content-disposition',
    `${name === 'preview.png' ? 'inline' : 'attachment'}; filename="${name}"`,
    'cache-control',
    cacheControl.private,
    'accept-ranges',
    'bytes',
    'x-content-type-options',
    'nosniff',
    'content-security-policy',
    "sandbox; default-src 'none'",
  ])
  return replyWithFile(request, reply, head, read)
}

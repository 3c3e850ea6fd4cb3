import type { FastifyRequest } from 'fastify'
import { type Spool, throwCut, UploadCut } from '../../../core/data/spool.ts'
import { InvalidRequest, PayloadTooLarge } from '../../../core/errors.ts'
import { formatBytes } from '../../../core/format-bytes.ts'
import { assertRoom } from '../../../drivers/storage/interface.ts'
import type { Limits } from '../limits.ts'
import type { UploadFields } from '../schemas.ts'
import { fieldsOf } from './fields.ts'
import type { LocalFile } from './ingest.ts'
import { uploadRule } from './limits.ts'

/**
 * Checks the announced length before any byte of an upload is read.
 *
 * @throws PayloadTooLarge for a length that no upload may have; StorageFull
 */
export async function checkLength(request: FastifyRequest, limits: Limits): Promise<void> {
  if (Number(request.headers['content-length'] ?? 0) > uploadRule(limits).maxBytes) {
    throw new PayloadTooLarge(
      `An upload has at most ${formatBytes(Math.max(limits.assetBytes, limits.assetPackBytes))}.`,
    )
  }
  await assertRoom(request.server.storage)
}

/**
 * Reads an upload form: fields in any order, and one file, which is streamed to the disk.
 *
 * @param work receives the fields and the file, which is always removed afterwards
 * @throws InvalidRequest, PayloadTooLarge, UploadCut, StorageFull
 */
export async function receive<Result>(
  request: FastifyRequest,
  { spool, limits }: { spool: Spool; limits: Limits },
  work: (fields: UploadFields, file: LocalFile) => Promise<Result>,
): Promise<Result> {
  if (!request.isMultipart()) throw new InvalidRequest('Send multipart/form-data with a `file`.')
  const texts = new Map<string, string[]>()
  let file: LocalFile | null = null
  try {
    for await (const part of parts(request)) {
      if (part.type === 'field') {
        texts.set(part.fieldname, [...(texts.get(part.fieldname) ?? []), String(part.value)])
        continue
      }
      if (file) throw new InvalidRequest('Send one file; put several into a ZIP archive.')
      const { file: body, filename } = part
      request.raw.once('close', () => {
        if (!request.raw.complete) body.destroy(new UploadCut())
      })
      // Otherwise the body would be read to its end, which may never come.
      body.once('limit', () =>
        body.destroy(new PayloadTooLarge(`An asset has at most ${formatBytes(limits.assetBytes)}.`)),
      )
      file = { path: await spool.take(body).catch(throwCut), name: filename }
    }
    if (!file) throw new InvalidRequest('There is no file in this form.')
    return await work(fieldsOf(texts), file)
  } catch (error) {
    // A page shows the refused form with what was entered.
    request.body = Object.fromEntries(texts)
    throw error
  } finally {
    if (file) await spool.remove(file.path)
  }
}

/** Errors of the library concern the form, so the sender is at fault. */
async function* parts(request: FastifyRequest) {
  try {
    yield* request.parts()
  } catch (error) {
    const { statusCode = 500, code } = error as { statusCode?: number; code?: string }
    if (error instanceof PayloadTooLarge || error instanceof InvalidRequest || error instanceof UploadCut) throw error
    if (statusCode < 500 || !code || /^(?:ERR_STREAM|ECONNRESET)/.test(code)) {
      throw new InvalidRequest('The form did not arrive completely.').with({ cause: error })
    }
    throw error
  }
}

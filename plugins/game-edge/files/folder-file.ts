import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ByteRange } from '../../../core/data/byte-range.ts'
import { fileHead, planResponse } from '../../../core/http/send-file.ts'
import { type Coding, chooseCoding } from './codings.ts'
import { charsetFits, opensPage } from './documents.ts'
import { injectTags } from './inject-tags.ts'
import { isForServiceWorker, withGuard } from './service-worker.ts'
import { decoder } from './streams.ts'

/** A file of a folder on this machine that is served as the file of a game. */
export interface FolderFile {
  /** Its path on the disk. */
  file: string
  size: number
  modifiedMs: number
  contentType: string
  /** The coding in which its maker stored it. */
  encoding: Coding | null
  /** Headers of every response. */
  headers: Readonly<Record<string, string>>
  /** Inserted into pages. */
  inject: string
}

/** Answers a GET or HEAD with a file of a folder by the rules of a game's own origin. Browsers keep nothing of it. */
export async function sendFolderFile(
  request: IncomingMessage,
  response: ServerResponse,
  { file, size, modifiedMs, contentType, encoding, headers, inject }: FolderFile,
): Promise<void> {
  const isPage = !encoding && /^text\/html\b/.test(contentType)
  const isWorker = !encoding && /\bjavascript\b/.test(contentType) && isForServiceWorker(request)
  const common = { ...headers, 'cache-control': 'no-store', ...(encoding ? { vary: 'accept-encoding' } : {}) }
  if (isPage || isWorker) {
    const bytes = await readFile(file)
    const body = isWorker ? withGuard(bytes) : injectTags(bytes, { last: inject }, { isPage: opensPage(request) })
    const type = isPage ? charsetFits(contentType, bytes) : contentType
    const open = ({ start, end }: ByteRange) => Readable.from([body.subarray(start, end + 1)], { objectMode: false })
    return send(request, response, { ...common, 'content-type': type }, { size: body.length, modifiedMs, open })
  }
  const coding = encoding && chooseCoding(request.headers['accept-encoding'] as string | undefined, [encoding])
  if (encoding && !coding) {
    // Its size is not known, so it has no parts.
    response.writeHead(200, { ...common, 'content-type': contentType })
    if (request.method === 'HEAD') response.end()
    else await pipeline(createReadStream(file), decoder(encoding), response).catch(() => response.destroy())
    return
  }
  const own = { ...common, 'content-type': contentType, ...(coding ? { 'content-encoding': coding } : {}) }
  const open = (range: ByteRange) => (size === 0 ? Readable.from([]) : createReadStream(file, range))
  await send(request, response, own, { size, modifiedMs, open })
}

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  { size, modifiedMs, open }: { size: number; modifiedMs: number; open: (range: ByteRange) => Readable },
): Promise<void> {
  const etag = `"${Math.round(modifiedMs).toString(36)}-${size}"`
  const pairs = Object.entries({ ...headers, 'accept-ranges': 'bytes' }).flat()
  const plan = planResponse(request, fileHead({ etag, size, isDocument: false }, pairs))
  response.writeHead(plan.status, plan.headers)
  if (plan.bytes === null) response.end()
  else
    await pipeline(open(plan.bytes === 'all' ? { start: 0, end: size - 1 } : plan.bytes), response).catch(() =>
      response.destroy(),
    )
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ByteRange } from '../data/byte-range.ts'
import { ifRangeHolds, matchesEtag, parseRange } from './headers.ts'

/** The precomputed headers of a file, as pairs for `writeHead`. */
export interface FileHead {
  etag: string
  /** Size in bytes. */
  size: number
  /** Headers of a part (206), without length and range. */
  partial: string[]
  /** Headers of the whole file (200). */
  whole: string[]
  /** Headers of a 304. */
  notModified: string[]
  /** Headers of who may read it, for a 416. */
  readers: string[]
  /** Whether the file is an HTML document that players navigate to. */
  isDocument: boolean
  /** Whether it was requested since the last eviction pass (hot-files.ts). */
  used: boolean
}

/** The headers of who may read a file, with every status: those of CORS, and those that isolate a document. */
const READERS = new Set([
  'access-control-allow-origin',
  'access-control-expose-headers',
  'cross-origin-opener-policy',
  'cross-origin-embedder-policy',
  'cross-origin-resource-policy',
])

/** The headers of the 200 that a 304 repeats (RFC 9110 section 15.4.5). */
const CONDITIONAL = new Set(['cache-control', 'vary'])

/** @param headers headers of the file as pairs: its type, caching and others */
export function fileHead(file: { etag: string; size: number; isDocument: boolean }, headers: string[]): FileHead {
  const { etag, size } = file
  const pick = (names: ReadonlySet<string>) =>
    headers.flatMap((name, at) => (at % 2 === 0 && names.has(name) ? [name, headers[at + 1] as string] : []))
  const readers = pick(READERS)
  const partial = [...headers, 'etag', etag]
  return {
    ...file,
    partial,
    whole: [...partial, 'content-length', String(size)],
    notModified: [...pick(CONDITIONAL), ...readers, 'etag', etag],
    readers,
    used: false,
  }
}

/** The plan of a response: the whole file, a part of it, or no bytes (null). */
export interface ResponsePlan {
  status: 200 | 206 | 304 | 416
  headers: string[]
  bytes: 'all' | ByteRange | null
}

/** Evaluates the conditions and ranges of a GET or HEAD (RFC 9110 sections 13.2.2 and 14). */
export function planResponse(request: IncomingMessage, head: FileHead): ResponsePlan {
  const { 'if-none-match': condition, 'if-range': ifRange, range: wanted } = request.headers
  if (condition !== undefined && matchesEtag(condition, head.etag)) {
    return { status: 304, headers: head.notModified, bytes: null }
  }
  const isHead = request.method === 'HEAD'
  // HTTP defines Range for GET only.
  const range =
    wanted === undefined || isHead || !ifRangeHolds(ifRange as string | undefined, head.etag)
      ? null
      : parseRange(wanted, head.size)
  if (range === null) return { status: 200, headers: head.whole, bytes: isHead ? null : 'all' }
  if (range === 'unsatisfiable') return { status: 416, headers: unsatisfiable(head), bytes: null }
  const { start, end } = range
  const part = ['content-range', `bytes ${start}-${end}/${head.size}`, 'content-length', String(end - start + 1)]
  return { status: 206, headers: [...head.partial, ...part], bytes: range }
}

const unsatisfiable = ({ size, readers }: FileHead) => [
  ...readers,
  'content-range',
  `bytes */${size}`,
  'cache-control',
  'no-store',
  'content-length',
  '0',
]

/**
 * Answers a route with a file, or with the part of it that is wanted. The file is opened before anything is sent, so that
 * a missing file gives an error response.
 *
 * @param open opens the file, or a part of it
 */
export async function replyWithFile(
  { raw }: Pick<FastifyRequest, 'raw'>,
  reply: Pick<FastifyReply, 'code' | 'header' | 'send'>,
  head: FileHead,
  open: (range?: ByteRange) => Promise<Readable>,
): Promise<FastifyReply> {
  const { status, headers, bytes } = planResponse(raw, head)
  const body = bytes === null ? nothing(raw, status) : await open(bytes === 'all' ? undefined : bytes)
  for (let at = 0; at < headers.length; at += 2) reply.header(headers[at] as string, headers[at + 1])
  return reply.code(status).send(body)
}

/** Fastify sends `content-length: 0` for a HEAD without a stream. */
const nothing = ({ method }: IncomingMessage, status: number): Readable | undefined =>
  method === 'HEAD' && status === 200 ? Readable.from([]) : undefined

/** A file in memory with its headers. */
export interface BufferedFile extends FileHead {
  body: Buffer
  /** The body of a small file as a binary string. Node sends a string in one piece with the head, which is faster. */
  text: string | null
}

const TEXT_BYTES = 16 * 1024

export const bufferedFile = (head: FileHead, body: Buffer): BufferedFile => ({
  ...head,
  body,
  text: body.length <= TEXT_BYTES ? body.toString('latin1') : null,
})

/** Responds with a file that is in memory. */
export function sendFromMemory(request: IncomingMessage, response: ServerResponse, head: BufferedFile): void {
  const { body, text } = head
  const { 'if-none-match': condition, range } = request.headers
  if (condition === undefined && range === undefined && request.method === 'GET') {
    response.writeHead(200, head.whole)
    if (text === null) response.end(body)
    else response.end(text, 'latin1')
    return
  }
  const { status, headers, bytes } = planResponse(request, head)
  response.writeHead(status, headers)
  if (bytes === null) response.end()
  else response.end(bytes === 'all' ? body : body.subarray(bytes.start, bytes.end + 1))
}

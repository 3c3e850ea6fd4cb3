import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'

export interface FilePart {
  field: string
  /** The path on this disk. */
  file: string
  name: string
  /** The size in bytes. */
  size: number
}

/** Builds a form with one file (RFC 7578). The file is streamed from disk, and the total size is known in advance. */
export function multipart(
  fields: Record<string, string | undefined>,
  { field, file, name, size }: FilePart,
  advance: (bytes: number) => void,
): { contentType: string; body: { size: number; open: () => Readable } } {
  const boundary = `gameyard-${randomUUID()}`
  const parts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(key)}"\r\n\r\n${value}\r\n`)
  const head = Buffer.from(
    `${parts.join('')}--${boundary}\r\nContent-Disposition: form-data; name="${quoted(field)}"; filename="${quoted(name)}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  async function* chunks() {
    yield head
    for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) {
      advance(chunk.length)
      yield chunk
    }
    yield tail
  }
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: { size: head.length + size + tail.length, open: () => Readable.from(chunks()) },
  }
}

/** Quotes a name as browsers do in forms (WHATWG HTML, multipart/form-data encoding). */
const quoted = (text: string): string => text.replace(/\r/g, '%0D').replace(/\n/g, '%0A').replace(/"/g, '%22')

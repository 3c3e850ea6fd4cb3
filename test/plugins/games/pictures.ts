import { crc32, deflateSync } from 'node:zlib'
import type { Client, RequestOptions } from '../../kit/platform.ts'

/** Returns a grey PNG. @param held the actual number of rows; by default that of the header */
export function png(width: number, height: number, held = height): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head[8] = 8 // This sets 8 bits per sample.
  const pixels = deflateSync(Buffer.alloc((width + 1) * held, 0))
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', head),
    pngChunk('IDAT', pixels),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

function pngChunk(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), body])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

/** Returns a PNG of about that many bytes, with meaningless text. */
export function largePng(bytes: number): Buffer {
  const plain = png(8, 8)
  const text = pngChunk('tEXt', Buffer.alloc(bytes, 'a'))
  return Buffer.concat([plain.subarray(0, 33), text, plain.subarray(33)])
}

/** Returns a GIF of one colour without compression. @param held the actual number of pixels */
export function gif(width: number, height: number, held = width * height): Buffer {
  const head = Buffer.from('GIF89a\0\0\0\0\x80\0\0\0\0\0\xff\xff\xff', 'latin1')
  head.writeUInt16LE(width, 6)
  head.writeUInt16LE(height, 8)
  const frame = Buffer.from(',\0\0\0\0\0\0\0\0\0', 'latin1')
  frame.writeUInt16LE(width, 5)
  frame.writeUInt16LE(height, 7)
  // The codes have 3 bits: clear, two pixels, clear, … so that the codes never grow; then the end.
  const codes = Array.from({ length: Math.ceil(held / 2) }, () => [4, 0, 0]).flat()
  const bits = [...codes, 5].map((code) => code.toString(2).padStart(3, '0'))
  const stream = bits.toReversed().join('')
  const padded = stream.padStart(Math.ceil(stream.length / 8) * 8, '0')
  const bytes = (padded.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)).reverse()
  const blocks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 255) {
    const part = bytes.slice(at, at + 255)
    blocks.push(Buffer.from([part.length, ...part]))
  }
  return Buffer.concat([head, frame, Buffer.from([2]), ...blocks, Buffer.from([0, 0x3b])])
}

/** Uploads as a form with a file field does. */
export function sendFile(client: Client, url: string, bytes: Buffer, name = 'file.png', options: RequestOptions = {}) {
  const boundary = 'a-boundary-of-the-tests'
  const body = Buffer.concat([
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: image/png\r\n\r\n`,
    ),
    bytes,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}`, ...options.headers }
  return client.post(url, body, { ...options, headers })
}

import type { Gltf } from './gltf.ts'

/** The binary chunk of a file. Each part begins at a multiple of 4 bytes. */
export class Chunk {
  readonly parts: Uint8Array[] = []
  length = 0

  /** @returns where the bytes begin */
  append(bytes: Uint8Array): number {
    const at = this.length
    this.parts.push(bytes, new Uint8Array(-bytes.length & 3))
    this.length += bytes.length + (-bytes.length & 3)
    return at
  }
}

const MAGIC = 0x46546c67
const JSON_CHUNK = 0x4e4f534a
const BINARY_CHUNK = 0x004e4942
const HEADER_BYTES = 12
const CHUNK_HEADER_BYTES = 8

/** Writes a glTF binary. Its first buffer is the chunk. */
export function toGlb(gltf: Gltf, chunk: Chunk): Uint8Array {
  const text = Buffer.from(JSON.stringify(gltf))
  const json = Buffer.concat([text, Buffer.alloc(-text.length & 3, ' ')])
  const binary = chunk.length > 0 ? [header(chunk.length, BINARY_CHUNK), ...chunk.parts] : []
  const parts = [header(json.length, JSON_CHUNK), json, ...binary]
  const start = Buffer.alloc(HEADER_BYTES)
  start.writeUInt32LE(MAGIC, 0)
  start.writeUInt32LE(2, 4)
  start.writeUInt32LE(HEADER_BYTES + parts.reduce((sum, { length }) => sum + length, 0), 8)
  return new Uint8Array(Buffer.concat([start, ...parts]))
}

function header(length: number, type: number): Buffer {
  const bytes = Buffer.alloc(CHUNK_HEADER_BYTES)
  bytes.writeUInt32LE(length, 0)
  bytes.writeUInt32LE(type, 4)
  return bytes
}

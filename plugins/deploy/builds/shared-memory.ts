import { ByteReader, EndOfBytes } from './byte-reader.ts'

/** Sections of the binary format that come before the memories, or hold them. */
const CUSTOM = 0
const IMPORT = 2
const MEMORY = 5
/** Sections that may come before the section of the memories. Later ones have no effect on the result. */
const EARLIER = new Set([CUSTOM, 1, IMPORT, 3, 4, MEMORY])

/** The maximum number of sections that are read. A module has a dozen, and custom ones may stand between them. */
const MOST_SECTIONS = 1000
/** The maximum size of an import section. Those of the largest games have some hundred KB. */
const SECTION_BYTES = 4 * 1024 ** 2
/** The bit of a memory's limits that makes it shared. */
const SHARED = 2

/**
 * Whether a WebAssembly module imports or defines a shared memory, which a browser allows only to cross-origin isolated
 * pages (WebAssembly Core Specification, sections 5.4.5 and 5.5, with the threads proposal).
 *
 * It reads the stream up to the memories, which come before all code, and passes over what it does not need. Bytes that
 * are no WebAssembly module have no shared memory.
 */
export async function hasSharedMemory(bytes: AsyncIterable<Uint8Array>): Promise<boolean> {
  const reader = new ByteReader(bytes)
  try {
    const magic = await reader.read(8)
    if (!MAGIC.every((byte, at) => magic[at] === byte)) return false
    for (let section = 0; section < MOST_SECTIONS; section++) {
      const id = (await reader.read(1))[0] as number
      const size = await sizeIn(reader)
      if (!EARLIER.has(id)) return false
      if (id !== IMPORT && id !== MEMORY) {
        await reader.skip(size)
        continue
      }
      if (size > SECTION_BYTES) return false
      const content = new Content(await reader.read(size))
      if (id === IMPORT ? importsSharedMemory(content) : definesSharedMemory(content)) return true
      if (id === MEMORY) return false
    }
    return false
  } catch (error) {
    if (error instanceof EndOfBytes || error instanceof Malformed) return false
    throw error
  } finally {
    await reader.close()
  }
}

/** `\0asm` and version 1. */
const MAGIC = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]

/** Reads the size of a section: LEB128 of at most five bytes. */
async function sizeIn(reader: ByteReader): Promise<number> {
  let size = 0
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = (await reader.read(1))[0] as number
    size += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) return size
  }
  throw new Malformed()
}

function definesSharedMemory(content: Content): boolean {
  for (let left = content.number(); left > 0; left--) if (content.limits() & SHARED) return true
  return false
}

/** The kinds of imports. */
const FUNCTION = 0
const TABLE = 1
const MEMORY_IMPORT = 2
const GLOBAL = 3
const TAG = 4

function importsSharedMemory(content: Content): boolean {
  for (let left = content.number(); left > 0; left--) {
    content.skip(content.number())
    content.skip(content.number())
    const kind = content.byte()
    if (kind === FUNCTION) content.number()
    else if (kind === TABLE) {
      content.valueType()
      content.limits()
    } else if (kind === MEMORY_IMPORT) {
      if (content.limits() & SHARED) return true
    } else if (kind === GLOBAL) {
      content.valueType()
      content.byte()
    } else if (kind === TAG) {
      content.byte()
      content.number()
    } else throw new Malformed()
  }
  return false
}

/** The bytes are no valid module. A browser refuses it, too. */
class Malformed extends Error {}

/** The content of a section, read from its beginning. */
class Content {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  byte(): number {
    const byte = this.#bytes[this.#at++]
    if (byte === undefined) throw new Malformed()
    return byte
  }

  /** Reads a LEB128 number of at most 64 bits. Large ones lose precision, which matters to no decision here. */
  number(): number {
    let value = 0
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.byte()
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw new Malformed()
  }

  skip(bytes: number): void {
    this.#at += bytes
    if (this.#at > this.#bytes.length) throw new Malformed()
  }

  /** Reads the type of a value: one byte, and the heap type of a reference that names one. */
  valueType(): void {
    const type = this.byte()
    if (type === 0x63 || type === 0x64) this.number()
  }

  /** Reads the limits of a memory or table. @returns their flags */
  limits(): number {
    const flags = this.number()
    this.number()
    // The maximum.
    if (flags & 1) this.number()
    // The size of a page (custom page sizes proposal).
    if (flags & 8) this.number()
    return flags
  }
}

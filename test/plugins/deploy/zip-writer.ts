import { crc32, deflateRawSync } from 'node:zlib'

/** An entry of an archive to write. Its metadata may be false. */
export interface ZipEntry {
  name: string | Buffer
  bytes?: Buffer | string
  /** The stored bytes, if they differ from the compressed content. */
  raw?: Buffer
  /** The compression method. Default: 8, Deflate */
  method?: number
  /** The Unix mode, such as 0o120777 for a symbolic link. */
  mode?: number
  flags?: number
  /** An extra field of the directory. */
  extra?: Buffer
  /** False values for the size, checksum and offset in the directory. */
  says?: { size?: number; compressedSize?: number; crc?: number; offset?: number }
}

/** Writes a zip archive by APPNOTE.TXT sections 4.3.7 to 4.3.16, including archives that no tool would write. */
export function zip(
  entries: readonly ZipEntry[],
  says: { entries?: number; zip64?: boolean; directory?: Buffer } = {},
): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const {
    name,
    bytes = '',
    raw,
    method = 8,
    mode = 0o100644,
    flags = 0x800,
    extra = Buffer.alloc(0),
    says: lies = {},
  } of entries) {
    const path = Buffer.from(name)
    const content = Buffer.from(bytes)
    const data = raw ?? (method === 8 ? deflateRawSync(content) : content)
    const shared = Buffer.alloc(26)
    shared.writeUInt16LE(20, 0)
    shared.writeUInt16LE(flags, 2)
    shared.writeUInt16LE(method, 4)
    shared.writeUInt32LE(lies.crc ?? crc32(content), 10)
    shared.writeUInt32LE(lies.compressedSize ?? data.length, 14)
    shared.writeUInt32LE(lies.size ?? content.length, 18)
    shared.writeUInt16LE(path.length, 22)
    locals.push(Buffer.from('504b0304', 'hex'), shared, path, data)
    const head = Buffer.alloc(6)
    head.write('504b0102', 'hex')
    head.writeUInt16LE((3 << 8) | 20, 4) // The archive claims to come from Unix, so that its modes apply.
    const tail = Buffer.alloc(14)
    // The field of the local header is empty, and its length is the last of the shared part.
    const length = Buffer.alloc(2)
    length.writeUInt16LE(extra.length)
    tail.writeUInt32LE((mode << 16) >>> 0, 6)
    tail.writeUInt32LE(lies.offset ?? offset, 10)
    directory.push(head, shared.subarray(0, 24), length, tail, path, extra)
    offset += 30 + path.length + data.length
  }
  if (says.directory) directory.splice(0, directory.length, says.directory)
  const size = directory.reduce((sum, part) => sum + part.length, 0)
  const count = says.entries ?? entries.length
  const end = Buffer.alloc(22)
  end.write('504b0506', 'hex')
  end.writeUInt16LE(says.zip64 ? 0xffff : count, 8)
  end.writeUInt16LE(says.zip64 ? 0xffff : count, 10)
  end.writeUInt32LE(says.zip64 ? 0xffffffff : size, 12)
  end.writeUInt32LE(says.zip64 ? 0xffffffff : offset, 16)
  return Buffer.concat([...locals, ...directory, ...(says.zip64 ? [zip64End(count, size, offset)] : []), end])
}

/** Returns the Zip64 end of the directory and its locator, as archives have them that exceed the ordinary limits. */
function zip64End(count: number, size: number, offset: number): Buffer {
  const end = Buffer.alloc(56 + 20)
  end.write('504b0606', 'hex')
  end.writeBigUInt64LE(44n, 4)
  end.writeBigUInt64LE(BigInt(count), 24)
  end.writeBigUInt64LE(BigInt(count), 32)
  end.writeBigUInt64LE(BigInt(size), 40)
  end.writeBigUInt64LE(BigInt(offset), 48)
  end.write('504b0607', 56, 'hex')
  end.writeBigUInt64LE(BigInt(offset + size), 64)
  end.writeUInt32LE(1, 72)
  return end
}

/** Returns a whole build as an archive. */
export const zipOf = (files: Record<string, string | Buffer>): Buffer =>
  zip(Object.entries(files).map(([name, bytes]) => ({ name, bytes })))

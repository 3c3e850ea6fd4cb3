const BLOCK_BYTES = 512

/** The size of the zeros at the end of a tar archive. */
export const TAR_END_BYTES = 2 * BLOCK_BYTES

/** Returns the size of a file in a tar archive: a header, the content, and padding. */
export const tarSizeOf = (size: number): number => BLOCK_BYTES + size + paddingOf(size)

/** Returns the number of zeros that follow the content of a file. */
export const paddingOf = (size: number): number => (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES

/**
 * Returns the header of a plain file in a tar archive (POSIX.1-2017 pax, "ustar Interchange Format").
 *
 * @param name at most 100 ASCII characters
 * @param size in bytes, below 8 GiB
 */
export function tarHeader(name: string, size: number): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(BLOCK_BYTES)
  const put = (text: string, at: number) => {
    for (let index = 0; index < text.length; index++) header[at + index] = text.charCodeAt(index)
  }
  put(name, 0)
  put('0000644\0', 100)
  put('0000000\0', 108)
  put('0000000\0', 116)
  put(`${size.toString(8).padStart(11, '0')}\0`, 124)
  put('00000000000\0', 136)
  // The sum is computed with its own eight bytes as spaces.
  put('        ', 148)
  put('0', 156)
  put('ustar\x0000', 257)
  let sum = 0
  for (const byte of header) sum += byte
  put(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

/** Files below this size are sent in bundles. For larger ones, a request of their own costs little. */
export const BUNDLED_BELOW = 1024 ** 2

/** The size of a bundle. Some proxies refuse bodies of more than 100 MB. */
export const BUNDLE_BYTES = 64 * 1024 ** 2

/**
 * Divides files into archives, in their order.
 *
 * @param sizeOf returns the bytes of a file's content
 * @param maxBytes the maximum size of an archive. A larger file gets one of its own
 */
export function* archivesOf<File>(files: File[], sizeOf: (file: File) => number, maxBytes: number): Generator<File[]> {
  let group: File[] = []
  let bytes = TAR_END_BYTES
  for (const file of files) {
    const more = tarSizeOf(sizeOf(file))
    if (group.length > 0 && bytes + more > maxBytes) {
      yield group
      group = []
      bytes = TAR_END_BYTES
    }
    group.push(file)
    bytes += more
  }
  if (group.length > 0) yield group
}

const SIGNATURES: [contentType: string, offset: number, bytes: string][] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/webp', 8, 'WEBP'],
  ['image/gif', 0, 'GIF8'],
  ['image/avif', 4, 'ftypavif'],
]

/** Detects the media type of an image by its first bytes; null unless browsers can display it. */
export function contentTypeOf(bytes: Uint8Array): string | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 16)).toString('latin1')
  return SIGNATURES.find(([, offset, signature]) => head.startsWith(signature, offset))?.[0] ?? null
}

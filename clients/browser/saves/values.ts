import { SaveError, type SaveValue } from './types.ts'

/** A value as bytes. */
export interface Encoded {
  bytes: ArrayBuffer
  type: string
}

const JSON_TYPE = 'application/json'
const KEY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export function mustBeKey(key: string): void {
  if (!KEY.test(key)) throw new TypeError('A key is 1 to 64 of A-Z a-z 0-9 . _ - and begins with a letter or digit.')
}

/** @throws TypeError when JSON can't express the value */
export async function encode(value: SaveValue): Promise<Encoded> {
  if (!(value instanceof Blob)) return encodeNow(value)
  return { bytes: await value.arrayBuffer(), type: value.type || 'application/octet-stream' }
}

/**
 * Encodes without a wait, for a page that is being closed.
 *
 * @throws TypeError when JSON can't express the value
 */
export function encodeNow(value: Exclude<SaveValue, Blob>): Encoded {
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) {
    const bytes =
      value instanceof ArrayBuffer ? value : value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength)
    return { bytes: (bytes as ArrayBuffer).slice(0), type: 'application/octet-stream' }
  }
  const text = JSON.stringify(value)
  if (text === undefined) throw new TypeError('A save is something that JSON can express, a Blob, or bytes.')
  return { bytes: new TextEncoder().encode(text).buffer as ArrayBuffer, type: JSON_TYPE }
}

/** @returns parsed JSON, or a Blob of another type */
export function decode({ bytes, type }: Encoded): SaveValue {
  if (type.split(';')[0]?.trim() !== JSON_TYPE) return new Blob([bytes], { type })
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    throw new SaveError('invalid_json', 'This save says that it is JSON, and is none.')
  }
}

export function isEqual(one: Encoded, other: Encoded): boolean {
  if (one.type !== other.type || one.bytes.byteLength !== other.bytes.byteLength) return false
  const [a, b] = [new Uint8Array(one.bytes), new Uint8Array(other.bytes)]
  return a.every((byte, index) => byte === b[index])
}

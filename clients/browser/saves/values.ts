import { SaveError, type SaveValue } from './types.ts'

/** A value as bytes. */
export interface Encoded {
  bytes: ArrayBuffer
  type: string
}

const JSON_TYPE = 'application/json'
/** Tells a Blob with JSON in it from a value that became JSON. */
const AS_BLOB = ';as=blob'
/** Objects of the language and the browser that JSON makes something else of. */
const BUILT_IN = new Set([
  'Map',
  'Set',
  'WeakMap',
  'WeakSet',
  'Date',
  'RegExp',
  'Error',
  'Promise',
  'Number',
  'String',
  'Boolean',
  'ArrayBuffer',
  'SharedArrayBuffer',
  'DataView',
  'Blob',
  'File',
  'FileList',
  'ImageData',
  'ImageBitmap',
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float16Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
  'URLSearchParams',
])
const KEY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export function mustBeKey(key: string): void {
  if (!KEY.test(key)) throw new TypeError('A key is 1 to 64 of A-Z a-z 0-9 . _ - and begins with a letter or digit.')
}

/** @throws TypeError when JSON can't express the value */
export async function encode(value: SaveValue): Promise<Encoded> {
  if (!(value instanceof Blob)) return encodeNow(value)
  const type = value.type || 'application/octet-stream'
  return { bytes: await value.arrayBuffer(), type: isJson(type) ? type + AS_BLOB : type }
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
  mustSurvive(value, 'The value')
  return { bytes: new TextEncoder().encode(text).buffer as ArrayBuffer, type: JSON_TYPE }
}

/**
 * Refuses what JSON would change without a word: it has no NaN, drops functions, and makes `{}` of a Map. An object with
 * a `toJSON` of its own says itself what it becomes.
 *
 * @throws TypeError
 */
function mustSurvive(value: unknown, place: string): void {
  if (typeof value === 'number' && !Number.isFinite(value)) throw changed(place, String(value))
  if (typeof value === 'function' || typeof value === 'symbol') throw changed(place, `a ${typeof value}`)
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      if (value[index] === undefined) throw changed(`${place}[${index}]`, 'undefined')
      mustSurvive(value[index], `${place}[${index}]`)
    }
    return
  }
  const kind = Object.prototype.toString.call(value).slice(8, -1)
  if (BUILT_IN.has(kind)) throw changed(place, `a ${kind}`)
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return
  for (const key of Object.keys(value)) mustSurvive((value as Record<string, unknown>)[key], `${place}.${key}`)
}

const changed = (place: string, what: string) =>
  new TypeError(`${place} is ${what}, which JSON would change. Save it in a form that JSON has.`)

/** @returns parsed JSON, or a Blob of another type */
export function decode({ bytes, type }: Encoded): SaveValue {
  if (type.endsWith(AS_BLOB)) return new Blob([bytes], { type: type.slice(0, -AS_BLOB.length) })
  if (!isJson(type)) return new Blob([bytes], { type })
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    throw new SaveError('invalid_json', 'This save says that it is JSON, and is none.')
  }
}

const isJson = (type: string): boolean => type.split(';')[0]?.trim() === JSON_TYPE

export function isEqual(one: Encoded, other: Encoded): boolean {
  if (one.type !== other.type || one.bytes.byteLength !== other.bytes.byteLength) return false
  const [a, b] = [new Uint8Array(one.bytes), new Uint8Array(other.bytes)]
  return a.every((byte, index) => byte === b[index])
}

// The most awkward inputs that a route allows, from its place in the route table. Each is as large as its limit.
import { randomBytes } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import { gifOfCodes, gifOfFrames, jpegOfScans, pngOfChunks } from '../../kit/hostile-images.ts'
import { tarOf } from '../../plugins/deploy/build.ts'
import { zip } from '../../plugins/deploy/zip-writer.ts'
import type { Schema } from '../fuzz-requests.ts'

/** The files of the archive `tar of small files`, which a deploy announces before. */
export const SMALL_FILES = Object.fromEntries(
  Array.from({ length: 20_000 }, (_, at) => [at === 0 ? 'index.html' : `f/${at}.txt`, `${at}`]),
)
/** The file `a file of zeros`, which a deploy announces before. */
export const ZEROS = Buffer.alloc(64 * 1024 ** 2)

/** What an input is made for. */
export interface Target {
  method: string
  /** With the values of its parameters. */
  url: string
  body: Schema | null
  query: Schema | null
  /** The type of body that the route takes. */
  kind: 'json' | 'form' | 'none'
  /** The largest body, in bytes. */
  limit: number
  /** The largest upload, in bytes. */
  uploadLimit: number
  /** The builders of `UPLOADS` for a route that takes uploads. */
  uploads: string[]
  /** The builders of `BODIES` for a route whose work its schema does not tell. */
  bodies: string[]
  /** Whether the bodies of `BODIES` are enough, if there are any. */
  few: boolean
  /** Values for fields by their names, such as ids of what the caller owns. */
  known: Record<string, unknown>
}

export interface Input {
  name: string
  url: string
  headers: Record<string, string>
  body?: Buffer
}

type Builder = (target: Target) => Buffer | string | null

const MB = 1024 ** 2
const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Texts that make patterns, formatters and readers of text work. */
const FILLINGS = ['\u306e', ' ', 'a', '-', '/', '"', '\\', '\u0301', '<', '.', '[', '*', '\n']

/** Fits a text into a number of bytes. */
const fit = (piece: string, bytes: number) => piece.repeat(Math.max(0, Math.floor(bytes / Buffer.byteLength(piece))))

/** Bodies of JSON, by their names. */
const JSON_BODIES: Record<string, Builder> = {
  'unknown fields': ({ limit }) => {
    const names = Array.from({ length: Math.floor((limit - 2) / 9) }, (_, at) => at.toString(36).padStart(4, '0'))
    return `{${names.map((name) => `"${name}":1`).join(',')}}`
  },
  'deep arrays': ({ limit }) => '['.repeat(limit / 2) + ']'.repeat(limit / 2),
  'deep objects': ({ limit }) => {
    const depth = Math.floor(limit / 6) - 1
    return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  },
  'an array of numbers': ({ limit }) => `[${fit('1,', limit - 4)}1]`,
  'an array of objects': ({ limit }) => `[${fit('{},', limit - 4)}{}]`,
  'escapes in an unknown text': ({ limit }) => `{"x":"${fit('\\u306e', limit - 10)}"}`,
  'each field an array': ({ body, limit }) => {
    const names = Object.keys(body?.properties ?? {})
    if (names.length === 0) return null
    const each = Math.floor((limit - 2) / names.length) - 60
    return `{${names.map((name) => `${JSON.stringify(name)}:[${fit('1,', each - 4)}1]`).join(',')}}`
  },
  'each field a long text': ({ body, limit }) => {
    const names = Object.keys(body?.properties ?? {})
    if (names.length === 0) return null
    const each = Math.floor((limit - 2) / names.length) - 60
    return `{${names.map((name) => `${JSON.stringify(name)}:"${fit('a', each)}"`).join(',')}}`
  },
}

/** Headers that are read for many answers, within the size that Node allows for all of them. */
const HEADERS: Record<string, Record<string, string>> = {
  'many ranges': { range: `bytes=${fit('0-0,', 12_000)}0-1` },
  'many entity tags': { 'if-none-match': `${fit('"a",', 12_000)}"a"` },
  'many codings': { 'accept-encoding': `${fit('x;q=0.1,', 12_000)}br` },
  'many types': { accept: `${fit('a/b;q=0.1,', 12_000)}text/html` },
  'many languages': { 'accept-language': `${fit('de;q=0.1,', 12_000)}en` },
  'many cookies': { cookie: fit('a=b; ', 12_000) },
}

const sha256 = 'a'.repeat(64)
const nested = (depth: number, inner: unknown): unknown =>
  depth === 0 ? inner : { type: 'object', properties: { a: nested(depth - 1, inner) } }

const callOf = (name: string, args: object) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })

/** Bodies for single routes, whose work their schema does not tell. */
export const BODIES: Record<string, (target: Target) => [type: string, text: string]> = {
  'a manifest of 20,000 files': ({ known }) => [
    JSON_TYPE,
    JSON.stringify({
      gameId: known.gameId,
      files: Array.from({ length: 20_000 }, (_, at) => ({
        path: at === 0 ? 'index.html' : `${'folder/'.repeat(60)}${at}.js`,
        size: at,
        sha256: at.toString(16).padStart(64, '0'),
      })),
    }),
  ],
  'a manifest of empty objects': ({ known, limit }) => [
    JSON_TYPE,
    `{"gameId":${JSON.stringify(known.gameId)},"files":[${fit('{},', limit - 100)}{}]}`,
  ],
  'a manifest that names one file twice': ({ known }) => [
    JSON_TYPE,
    JSON.stringify({
      gameId: known.gameId,
      files: Array.from({ length: 20_000 }, () => ({ path: `${'a'.repeat(500)}.js`, size: 1, sha256 })),
    }),
  ],
  'a schema of 2000 parts': ({ limit }) => [
    JSON_TYPE,
    JSON.stringify({
      prompt: 'x',
      type: 'object',
      schema: {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: Math.min(2000, limit / 20) }, (_, at) => [`p${at}`, {}])),
      },
    }),
  ],
  'a deep schema': () => [JSON_TYPE, JSON.stringify({ prompt: 'x', type: 'object', schema: nested(500, {}) })],
  'a schema whose pattern backtracks': () => [
    JSON_TYPE,
    JSON.stringify({ prompt: 'x', type: 'object', schema: { type: 'string', pattern: '^(a+)+$' } }),
  ],
  'a call with deep arguments': ({ limit }) => [
    JSON_TYPE,
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_games","arguments":{"a":${'['.repeat(Math.min(limit, MB) / 3)}${']'.repeat(Math.min(limit, MB) / 3)}}}}`,
  ],
  'a call with many arguments': ({ limit }) => [
    JSON_TYPE,
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_games","arguments":{${Array.from({ length: Math.floor((limit - 200) / 13) }, (_, at) => `"${at.toString(36).padStart(8, '0')}":1`).join(',')}}}}`,
  ],
  'a call with a large file': ({ known }) => [
    JSON_TYPE,
    callOf('deploy_files', { gameId: known.gameId, files: { 'index.html': { base64: 'A'.repeat(30 * MB) } } }),
  ],
  'a call with a long text': ({ known }) => [
    JSON_TYPE,
    callOf('deploy_files', { gameId: known.gameId, files: { 'index.html': '字'.repeat(10 * MB) } }),
  ],
  'a call with many files': ({ known }) => [
    JSON_TYPE,
    callOf('deploy_files', {
      gameId: known.gameId,
      files: Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`folder/${at}.js`, `"${at}\n`.repeat(1000)])),
    }),
  ],
  'a batch of calls': ({ limit }) => [
    JSON_TYPE,
    `[${fit('{"jsonrpc":"2.0","id":1,"method":"tools/list"},', Math.min(limit, MB))}{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
  ],
}

const FORM_BODIES: Record<string, Builder> = {
  'pairs without names': ({ limit }) => fit('&', limit),
  'many pairs': ({ limit }) =>
    `${Array.from({ length: 99 }, (_, at) => `n${at}=${fit('%41', limit / 99 - 5)}`).join('&')}`,
  escapes: ({ limit }) => `x=${fit('%E3%81%AE', limit - 2)}`,
  'broken escapes': ({ limit }) => `x=${fit('%ZZ', limit - 2)}`,
}

/**
 * Returns a value that the schema takes, as large as can be.
 *
 * @param filling what texts consist of
 * @param scale the part of the largest length that texts and arrays have, since all together may be above the limit
 */
function largest(schema: Schema, target: Target, filling: string, scale: number, name = ''): unknown {
  if (name in target.known) return target.known[name]
  if ('const' in schema) return schema.const
  if (schema.enum) return schema.enum.at(-1)
  if (schema.anyOf) return largest(schema.anyOf.find(({ type }) => type !== 'null') ?? {}, target, filling, scale, name)
  switch (schema.type) {
    case 'string': {
      const length = Math.max(schema.minLength ?? 0, Math.floor((schema.maxLength ?? 2000) * scale))
      // A pattern is met or not, after the work of trying.
      return filling.repeat(length)
    }
    case 'integer':
    case 'number':
      return schema.maximum ?? 1_000_000
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array': {
      const { minItems = 0, maxItems = 1000 } = schema
      const length = Math.max(minItems, Math.floor(Math.min(maxItems, 20_000) * scale))
      return Array.from({ length }, (_, at) => distinct(largest(schema.items ?? {}, target, filling, scale, ''), at))
    }
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([key, one]) => [key, largest(one, target, filling, scale, key)]),
      )
    default:
      return filling.repeat(100)
  }
}

/** Items of a list are often required to differ. */
const distinct = (item: unknown, at: number): unknown => (typeof item === 'string' ? `${item.slice(8)}${at}` : item)

/** The largest value that fits into the limit as text. */
function fitted(target: Target, schema: Schema, filling: string, write: (value: unknown) => string): string {
  for (let scale = 1; ; scale *= 0.7) {
    const text = write(largest(schema, target, filling, scale))
    if (Buffer.byteLength(text) <= target.limit || scale < 0.001) return text
  }
}

const formOf = (value: unknown): string => {
  const form = new URLSearchParams()
  for (const [name, one] of Object.entries(value as object)) {
    for (const item of [one].flat()) form.append(name, typeof item === 'object' ? JSON.stringify(item) : String(item))
  }
  return form.toString()
}

/** Longer query strings are refused with the head of a request. */
const QUERY_BYTES = 12_000
const CURSORS = [
  Buffer.from(`[${fit('1,', 6000)}1]`).toString('base64url'),
  Buffer.from('['.repeat(6000)).toString('base64url'),
  Buffer.from(JSON.stringify({ at: 'x'.repeat(6000), id: 'x' })).toString('base64url'),
  fit('%41', QUERY_BYTES),
]

/** Query strings: every parameter at its largest, with each filling. */
function* queriesOf(target: Target): Generator<[name: string, query: string]> {
  const properties = Object.entries(target.query?.properties ?? {})
  yield ['unknown parameters', fit('a&', QUERY_BYTES)]
  if (properties.length === 0) return
  for (const filling of FILLINGS) {
    const pairs = properties
      .filter(([name]) => name !== 'cursor')
      .map(([name, schema]) => {
        const value = String(largest(schema, target, filling, 1, name))
        return `${name}=${encodeURIComponent(value)
          .slice(0, QUERY_BYTES / properties.length)
          .replace(/%.?$/, '')}`
      })
    if (pairs.length > 0) yield [`parameters of ${JSON.stringify(filling)}`, pairs.join('&')]
  }
  if (properties.some(([name]) => name === 'limit')) yield ['the longest page', 'limit=100']
  if (!properties.some(([name]) => name === 'cursor')) return
  for (const [at, cursor] of CURSORS.entries()) yield [`cursor ${at}`, `cursor=${cursor}`]
}

const png = (side: number) => {
  const chunk = (type: string, data: Buffer) => {
    const head = Buffer.alloc(8)
    head.writeUInt32BE(data.length)
    head.write(type, 4, 'latin1')
    return Buffer.concat([head, data, Buffer.alloc(4)])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header.set([8, 6], 8)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.alloc(side * (side * 4 + 1)), { level: 1 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

const glb = (json: string) => {
  const text = Buffer.from(json.padEnd(Math.ceil(json.length / 4) * 4))
  const head = Buffer.alloc(20)
  head.write('glTF', 0, 'latin1')
  head.writeUInt32LE(2, 4)
  head.writeUInt32LE(20 + text.length, 8)
  head.writeUInt32LE(text.length, 12)
  head.write('JSON', 16, 'latin1')
  return Buffer.concat([head, text])
}

const many = (count: number, of: (at: number) => [name: string | Buffer, bytes: string | Buffer], flags?: number) =>
  zip(
    Array.from({ length: count }, (_, at) => of(at)).map(([name, bytes]) => ({
      name,
      bytes,
      ...(flags === undefined ? {} : { flags }),
    })),
  )

/** A word of Katakana in Shift-JIS. */
const katakana = (at: number) => Buffer.from([0, 1, 2, 3].flatMap((place) => [0x83, 0x41 + ((at >> (place * 4)) % 60)]))

interface UploadedFile {
  name: string
  type: string
  bytes: Buffer
}

/** What uploads carry: bombs of each type of media. */
export const UPLOADS: Record<string, () => UploadedFile> = {
  'jpeg of scans': () => ({ name: 'x.jpg', type: 'image/jpeg', bytes: jpegOfScans(2048, 1000) }),
  'jpeg of allowed scans': () => ({ name: 'x.jpg', type: 'image/jpeg', bytes: jpegOfScans(2048, 60) }),
  'png of pixels': () => ({ name: 'x.png', type: 'image/png', bytes: png(2048) }),
  'png of chunks': () => ({ name: 'x.png', type: 'image/png', bytes: pngOfChunks(png(16), 200_000) }),
  'gif of frames': () => ({ name: 'x.gif', type: 'image/gif', bytes: gifOfFrames(200_000) }),
  'gif of codes': () => ({ name: 'x.gif', type: 'image/gif', bytes: gifOfCodes(3 * MB) }),
  'model of nodes': () => ({
    name: 'x.glb',
    type: 'model/gltf-binary',
    bytes: glb(`{"asset":{"version":"2.0"},"nodes":[${fit('{},', 8 * MB)}{}]}`),
  }),
  'deep model': () => ({
    name: 'x.glb',
    type: 'model/gltf-binary',
    bytes: glb(`{"asset":{"version":"2.0"},"extras":${'['.repeat(MB)}${']'.repeat(MB)}}`),
  }),
  'zip of small files': () => ({
    name: 'x.zip',
    type: 'application/zip',
    bytes: many(20_000, (at) => [at === 0 ? 'index.html' : `f/${at}.txt`, `${at}`]),
  }),
  'zip of foreign names': () => ({
    name: 'x.zip',
    type: 'application/zip',
    bytes: many(
      20_000,
      (at) => [at === 0 ? 'index.html' : Buffer.concat([katakana(at), Buffer.from(`${at}.txt`)]), `${at}`],
      0,
    ),
  }),
  'zip of deep folders': () => ({
    name: 'x.zip',
    type: 'application/zip',
    bytes: many(2000, (at) => [at === 0 ? 'index.html' : `${'d/'.repeat(240)}${at}.txt`, `${at}`]),
  }),
  'zip of ignore patterns': () => ({
    name: 'x.zip',
    type: 'application/zip',
    bytes: many(2000, (at) =>
      at === 0
        ? ['.gameyardignore', fit('**/*a*a*a*a*a*b\n', 60_000)]
        : [at === 1 ? 'index.html' : `${'a'.repeat(120)}/${at}.txt`, `${at}`],
    ),
  }),
  'zip of zeros': () => ({
    name: 'x.zip',
    type: 'application/zip',
    bytes: many(2, (at) => [at === 0 ? 'index.html' : `${at}.html`, Buffer.alloc(30 * MB)]),
  }),
  'tar of small files': () => ({ name: 'x.tar', type: 'application/x-tar', bytes: tarOf(SMALL_FILES) }),
  'a file of zeros': () => ({ name: 'x.bin', type: 'application/octet-stream', bytes: ZEROS }),
  'random bytes': () => ({ name: 'x.bin', type: 'application/octet-stream', bytes: randomBytes(8 * MB) }),
  'a long script': () => ({ name: 'x.js', type: 'text/javascript', bytes: Buffer.from(fit('(()=>{', 4 * MB)) }),
}

/** Makes the parts of a form around an upload. */
function multipart({ name, type, bytes }: UploadedFile): [type: string, body: Buffer] {
  const boundary = 'x'.repeat(40)
  const part = (head: string) => `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`
  const before = `${part('name="title"')}x\r\n${part(`name="file"; filename="${name}"\r\nContent-Type: ${type}`)}`
  const body = Buffer.concat([Buffer.from(before), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)])
  return [`multipart/form-data; boundary=${boundary}`, body]
}

/** Yields the inputs one at a time, since some are large. */
export function* inputsOf(target: Target): Generator<Input> {
  const { url } = target
  yield { name: 'nothing', url, headers: {} }
  for (const [name, query] of queriesOf(target)) yield { name, url: `${url}?${query}`, headers: {} }
  if (target.method === 'GET') {
    for (const [name, headers] of Object.entries(HEADERS)) yield { name, url, headers }
    return
  }
  for (const name of target.bodies) {
    const [type, text] = (BODIES[name] as (target: Target) => [string, string])(target)
    yield { name, url, headers: { 'content-type': type }, body: Buffer.from(text) }
  }
  if (target.few && target.bodies.length > 0) return
  if (target.uploads.length > 0) {
    for (const upload of target.uploads) {
      const file = (UPLOADS[upload] as () => UploadedFile)()
      if (target.kind === 'none') {
        const body = file.bytes.subarray(0, target.uploadLimit)
        yield { name: upload, url, headers: { 'content-type': file.type }, body }
        continue
      }
      const [type, body] = multipart(file)
      yield { name: upload, url, headers: { 'content-type': type }, body }
    }
    if (!target.body) return
  }
  if (target.kind === 'form') {
    const headers = { 'content-type': FORM_TYPE }
    for (const [name, build] of Object.entries(FORM_BODIES)) {
      yield { name, url, headers, body: Buffer.from(build(target) ?? '') }
    }
    for (const filling of target.body ? FILLINGS : []) {
      const body = Buffer.from(fitted(target, target.body as Schema, filling, formOf))
      yield { name: `the largest of ${JSON.stringify(filling)}`, url, headers, body }
    }
    return
  }
  const headers = { 'content-type': JSON_TYPE }
  for (const [name, build] of Object.entries(JSON_BODIES)) {
    const text = build(target)
    if (text !== null) yield { name, url, headers, body: Buffer.from(text) }
  }
  for (const filling of target.body ? FILLINGS : []) {
    const body = Buffer.from(fitted(target, target.body as Schema, filling, (value) => JSON.stringify(value)))
    yield { name: `the largest of ${JSON.stringify(filling)}`, url, headers, body }
  }
}

// Requests made up from an operation of the OpenAPI document: some right, most of them nearly right, some absurd.
import fc, { type Arbitrary } from 'fast-check'
import { anyText } from '../kit/any-text.ts'

/** As much of JSON Schema as our schemas use. */
export interface Schema {
  type?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  minItems?: number
  maxItems?: number
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  pattern?: string
  format?: string
}

export interface Operation {
  method: string
  /** With `{name}` where a parameter stands. */
  path: string
  parameters?: { name: string; in: string; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>
}

export interface MadeUpRequest {
  url: string
  headers: Record<string, string>
  body: string | Buffer | undefined
}

/** Values that mean something in this world, by the name of the field or parameter that holds them. */
export type Hints = Record<string, readonly unknown[]>

const FORM = 'application/x-www-form-urlencoded'

const strings = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 60 }) },
  { weight: 2, arbitrary: anyText({ maxLength: 30 }) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '',
      ' ',
      '\0',
      'a\0b',
      '\ud800',
      '\u202e',
      '-1',
      '0',
      'null',
      'undefined',
      'NaN',
      '[]',
      '{}',
      '%',
      '%00',
      '%zz',
      '.',
      '..',
      '../../etc/passwd',
      '/',
      '\\',
      'index.html',
      'C:\\x',
      "'; drop table games; --",
      '" or 1=1',
      '$1',
      '?',
      '<script>',
      '{{7*7}}',
      '#{7*7}',
      '__proto__',
      'constructor',
      'toString',
      'javascript:alert(1)',
      'http://',
      'https://x',
      'http://[::1]:99999/',
      '9999999999.gam_00000000000000000000000000',
      '٣',
      'ﬁ',
      'İ',
      '👩‍👩‍👧‍👦'.repeat(50),
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom('x'.repeat(300), 'x'.repeat(3000), 'é'.repeat(70_000)) },
)

const numbers = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -1, 1, 0.5, 2 ** 31, 2 ** 53, -(2 ** 53), 1e21, 1e308, -0),
)

const junk: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, true, false, [], {}, [[]], [null], { '': '' }),
  strings,
  numbers,
  fc.array(strings, { maxLength: 5 }),
  fc.dictionary(strings, fc.oneof(strings, numbers), { maxKeys: 5 }),
  fc.jsonValue({ maxDepth: 4 }),
)

/** What the schema asks for; `hints` go first. */
function valid(schema: Schema, hints: Hints, name = ''): Arbitrary<unknown> {
  const plain = plainly(schema, hints, name)
  const known = hints[name]
  return known ? fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...known) }, plain) : plain
}

function plainly(schema: Schema, hints: Hints, name: string): Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => valid(one, hints, name)))
  switch (schema.type) {
    case 'string': {
      // What a lookahead rules out is left to chance: fast-check can't build strings that keep to one.
      if (schema.pattern?.includes('\\p{L}\\p{M}\\p{N}')) return fc.stringMatching(/^[a-zãжλ字ก็0-9-]{1,30}$/)
      if (schema.pattern) return fc.stringMatching(new RegExp(schema.pattern.replace(/\(\?!.*?\)/g, '')))
      const { minLength = 0, maxLength = 200 } = schema
      return fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, minLength + 80) })
    }
    case 'integer':
      return fc.integer({
        min: Math.max(schema.minimum ?? -1000, Number.MIN_SAFE_INTEGER),
        max: Math.min(schema.maximum ?? 2 ** 31 - 1, Number.MAX_SAFE_INTEGER),
      })
    case 'number':
      return fc.double({ noNaN: true })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array': {
      const { minItems = 0, maxItems = 8 } = schema
      return fc.array(valid(schema.items ?? {}, hints, name), { minLength: minItems, maxLength: Math.min(maxItems, 8) })
    }
    case 'object': {
      const fields = Object.entries(schema.properties ?? {}).map(([key, one]) => [key, valid(one, hints, key)] as const)
      return fc.record(Object.fromEntries(fields), { requiredKeys: (schema.required ?? []) as never[] })
    }
    default:
      return junk
  }
}

/** A valid value in which something is wrong: a field gone, too many, of another type, or all of it. */
function broken(schema: Schema, hints: Hints): Arbitrary<unknown> {
  const names = Object.keys(schema.properties ?? {})
  if (names.length === 0) return junk
  const field = fc.constantFrom(...names)
  const base = valid(schema, hints) as Arbitrary<Record<string, unknown>>
  return fc.oneof(
    fc
      .tuple(base, field)
      .map(([value, name]) => Object.fromEntries(Object.entries(value).filter(([key]) => key !== name))),
    fc.tuple(base, strings, junk).map(([value, name, extra]) => ({ ...value, [name]: extra })),
    fc.tuple(base, field, junk).map(([value, name, wrong]) => ({ ...value, [name]: wrong })),
    fc.tuple(base, field, field, junk, junk).map(([value, a, b, x, y]) => ({ ...value, [a]: x, [b]: [y] })),
    junk,
  )
}

const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const RAW = [
  '',
  ' ',
  '{',
  '}',
  '{"a":',
  'null',
  '0',
  '"',
  '\ufeff{}',
  '{}{}',
  '{"a":1,"a":2}',
  '{"__proto__":{"isAdmin":true}}',
  '{"constructor":{"prototype":{"x":1}}}',
  deep(5000),
  `{"title":${deep(3000)}}`,
  '"\\ud800"',
  '{"title":"\\u0000"}',
  '[1e400]',
  '&&&=',
  'a=1&a=2&a[]=3',
  'a'.repeat(20_000),
  `${'a&'.repeat(5000)}`,
]

function bodyOf(operation: Operation, hints: Hints): Arbitrary<{ body?: string | Buffer; type?: string }> {
  const [type, { schema }] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [
    'application/json',
    { schema: {} },
  ]
  const write = (value: unknown) => ({ body: type === FORM ? formOf(value) : (JSON.stringify(value) ?? ''), type })
  const types = fc.constantFrom(
    type,
    'application/json',
    FORM,
    'text/plain',
    '',
    'application/json; charset=utf-16',
    'a/b/c',
  )
  const raw = fc.oneof(
    fc.constantFrom(...RAW),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  )
  return fc.oneof(
    { weight: 4, arbitrary: valid(schema, hints).map(write) },
    { weight: 6, arbitrary: broken(schema, hints).map(write) },
    { weight: 2, arbitrary: fc.record({ body: raw, type: types }) },
    { weight: 1, arbitrary: fc.constant({}) },
  )
}

function formOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const form = new URLSearchParams()
  for (const [name, one] of Object.entries(value)) {
    for (const item of [one].flat()) form.append(name, typeof item === 'object' ? JSON.stringify(item) : String(item))
  }
  return form.toString()
}

/** In a URL, mostly escaped as it should be. */
const escaped = (text: Arbitrary<unknown>): Arbitrary<string> =>
  fc.oneof(
    { weight: 9, arbitrary: text.map((value) => encodeURIComponent(String(value).toWellFormed())) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '%',
        '%zz',
        '%00',
        '%ff',
        '%2f..%2f',
        '%C0%AE',
        '',
        ';',
        '@',
        ':',
        '+',
        '*',
        'x'.repeat(1025),
      ),
    },
  )

function urlOf(operation: Operation, hints: Hints): Arbitrary<string> {
  const parameters = operation.parameters ?? []
  const one = (schema: Schema, name: string) =>
    fc.oneof({ weight: 6, arbitrary: valid(schema, hints, name) }, { weight: 4, arbitrary: fc.oneof(strings, numbers) })
  const inPath = parameters.filter((parameter) => parameter.in === 'path')
  const inQuery = parameters.filter((parameter) => parameter.in === 'query')
  const path = fc
    .tuple(...inPath.map(({ schema, name }) => escaped(one(schema, name))))
    .map((values) =>
      inPath.reduce((url, { name }, index) => url.replace(`{${name}}`, () => values[index] ?? ''), operation.path),
    )
  const pairs = inQuery.map(({ schema, name }) =>
    fc.option(
      escaped(one(schema, name)).map((value) => `${name}=${value}`),
      { nil: '' },
    ),
  )
  const strange = fc.oneof(
    { weight: 6, arbitrary: fc.constant('') },
    fc.constantFrom(
      '&',
      '=',
      'limit=1&limit=2',
      'limit[]=1',
      'a[b]=c',
      '__proto__=1',
      '%=%',
      'cursor=%00',
      'limit=1e2',
      '?',
    ),
    fc.tuple(escaped(strings), escaped(strings)).map((pair) => pair.join('=')),
  )
  return fc.tuple(path, fc.tuple(...pairs), strange).map(([start, parts, last]) => {
    const query = [...parts, last].filter(Boolean).join('&')
    return query ? `${start}?${query}` : start
  })
}

/** A request for an operation. */
export function requestFor(operation: Operation, hints: Hints): Arbitrary<MadeUpRequest> {
  const takesBody = operation.method !== 'get' && operation.method !== 'head'
  const body = takesBody ? bodyOf(operation, hints) : fc.constant({} as { body?: string; type?: string })
  const extra = fc.oneof(
    { weight: 8, arbitrary: fc.constant({}) },
    fc.constantFrom<Record<string, string>>(
      { accept: 'text/html' },
      { range: 'bytes=5-1,-' },
      { 'idempotency-key': 'the-same' },
      { 'idempotency-key': 'two words' },
      { 'if-none-match': '"' },
      { 'accept-encoding': 'br;q=x, *' },
      { 'x-forwarded-for': '::1, not-an-address' },
      { 'x-http-method-override': 'DELETE' },
    ),
  )
  return fc.tuple(urlOf(operation, hints), body, extra).map(([url, { body: payload, type }, headers]) => ({
    url,
    headers: { ...headers, ...(type === undefined ? {} : { 'content-type': type }) },
    body: payload,
  }))
}

/** A request that keeps to the operation's schemas, with the hints wherever they fit: for what needs one to be taken. */
export function wellFormedRequestFor(operation: Operation, hints: Hints): Arbitrary<MadeUpRequest> {
  const parameters = (operation.parameters ?? []).map(({ in: place, name, schema }) =>
    (place === 'path' ? known(schema, hints, name) : fc.option(valid(schema, hints, name), { nil: undefined })).map(
      (value) => ({ place, name, value }),
    ),
  )
  const [type, { schema }] = Object.entries(operation.requestBody?.content ?? {})[0] ?? ['', { schema: undefined }]
  const body = schema ? valid(schema, hints) : fc.constant(undefined)
  return fc.tuple(fc.tuple(...parameters), body).map(([given, value]) => {
    const text = ({ value }: { value: unknown }) => encodeURIComponent(String(value).toWellFormed())
    const path = given
      .filter(({ place }) => place === 'path')
      .reduce((url, one) => url.replace(`{${one.name}}`, () => text(one)), operation.path)
    const query = given
      .filter(({ place, value }) => place === 'query' && value !== undefined)
      .map((one) => `${one.name}=${text(one)}`)
    return {
      url: query.length > 0 ? `${path}?${query.join('&')}` : path,
      headers: schema ? { 'content-type': type } : {},
      body: schema ? (type === FORM ? formOf(value) : JSON.stringify(value)) : undefined,
    }
  })
}

const known = (schema: Schema, hints: Hints, name: string): Arbitrary<unknown> =>
  hints[name] ? fc.constantFrom(...hints[name]) : valid(schema, hints, name)

// In a process of its own: it measures how much memory this one takes.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { ObjectSchema } from '../../../plugins/ai/object-schema.ts'

/** Returns one of many schemas, each with a different name. */
const schemaOf = (name: string) => ({
  type: 'object',
  properties: { first: { $ref: `https://goblins.example/${name}/0` } },
  $defs: Object.fromEntries(
    Array.from({ length: 80 }, (_, part) => [
      `part${part}`,
      { $id: `https://goblins.example/${name}/${part}`, type: 'string', description: 'x'.repeat(150) },
    ]),
  ),
})

t.test('a name that a schema gives to a part of it holds in that schema only', async (t) => {
  const schema = await ObjectSchema.compile(schemaOf('grix'))
  t.equal(schema.matches({ first: 'Grix' }), true)
  t.equal(schema.matches({ first: 12 }), false)
  const stray = { type: 'object', properties: { first: { $ref: 'https://goblins.example/grix/0' } } }
  const unknown = { name: 'InvalidSchema', message: /can't resolve reference/ }
  await t.rejects(ObjectSchema.compile(stray), unknown, 'as if nobody had ever had it')
  const name = 'https://goblins.example/property'
  await ObjectSchema.compile({ type: 'object', properties: { first: { $id: name, type: 'string' } } })
  const another = { type: 'object', properties: { first: { $ref: name } } }
  await t.rejects(ObjectSchema.compile(another), unknown, 'nor one of a property')
})

t.test('a schema is read by its own draft, or as its author meant it', async (t) => {
  const draft7 = 'http://json-schema.org/draft-07/schema#'
  const point = [{ type: 'number' }, { type: 'number' }]
  const root = { $id: 'https://goblins.example/tree', type: 'object', required: ['name'] }
  const table: [title: string, schema: Record<string, unknown>, good: unknown[], bad: unknown[]][] = [
    ['a tuple of draft-07 (zod 3)', { $schema: draft7, type: 'array', items: point }, [[1, 2]], [['a', 2], {}]],
    [
      'a tuple without a draft (TypeBox)',
      { type: 'object', properties: { at: { type: 'array', items: point, additionalItems: false, minItems: 2 } } },
      [{ at: [1, 2] }],
      [{ at: [1, 2, 3] }, { at: [1] }, { at: [1, 'b'] }],
    ],
    ['a tuple of 2020-12', { prefixItems: point, items: false }, [[1, 2]], [[1, 2, 3], ['a']]],
    [
      'a tuple of 2019-09',
      { $schema: 'https://json-schema.org/draft/2019-09/schema', items: point, additionalItems: false },
      [[1, 2]],
      [[1, 2, 3]],
    ],
    [
      'a reference to the id of the root',
      { ...root, properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: root.$id } } } },
      [{ name: 'a', children: [{ name: 'b' }] }],
      [{ name: 'a', children: [{}] }],
    ],
    [
      'a reference below the id of the root',
      { ...root, $defs: { n: { type: 'string' } }, properties: { name: { $ref: `${root.$id}#/$defs/n` } } },
      [{ name: 'a' }],
      [{ name: 1 }],
    ],
    [
      'nullable of OpenAPI, with and without a type',
      {
        type: 'object',
        properties: {
          a: { type: 'string', nullable: true },
          b: { enum: ['x'], nullable: true },
          c: { $ref: '#/$defs/n', nullable: true },
          d: { type: 'string', nullable: false },
          nullable: { type: 'boolean' },
        },
        $defs: { n: { type: 'integer' } },
      },
      [
        { a: null, b: null, c: null, d: 'x', nullable: true },
        { a: 'x', b: 'x', c: 1 },
      ],
      [{ a: 1 }, { b: 'y' }, { c: 'x' }, { d: null }, { nullable: 1 }],
    ],
    ['a nullable root', { type: 'object', nullable: true, required: ['a'] }, [null, { a: 1 }], [{}, 1]],
    ['a limit that excludes itself', { type: 'integer', minimum: 0, exclusiveMinimum: true }, [1], [0]],
    ['a limit that does not', { maximum: 9, exclusiveMaximum: false, exclusiveMinimum: 0 }, [9, 1], [10, 0]],
    ['draft-04', { $schema: 'http://json-schema.org/draft-04/schema#', maximum: 9, exclusiveMaximum: true }, [8], [9]],
    ['constants stay as they are', { const: { nullable: true, items: [1] } }, [{ nullable: true, items: [1] }], [null]],
  ]
  for (const [title, schema, good, bad] of table) {
    const compiled = await ObjectSchema.compile(schema)
    for (const value of good) t.equal(compiled.matches(value), true, `${title}: ${JSON.stringify(value)}`)
    for (const value of bad) t.equal(compiled.matches(value), false, `${title}: ${JSON.stringify(value)}`)
  }
})

t.test('the id of a root holds in its schema only, and takes no meta-schema away', async (t) => {
  const $id = 'https://goblins.example/root'
  for (const type of ['string', 'integer']) {
    const schema = await ObjectSchema.compile({ $id, type })
    t.equal(schema.matches(1), type === 'integer')
  }
  await t.rejects(ObjectSchema.compile({ $ref: $id }), { message: /can't resolve reference/ })
  for (const name of ['https://json-schema.org/draft/2020-12/schema', 'https://json-schema.org/draft/2020-12/schema#'])
    await t.rejects(ObjectSchema.compile({ $id: name }), { name: 'InvalidSchema' })
  t.equal((await ObjectSchema.compile({ type: 'string' })).matches('x'), true)
})

t.test('subschemas are counted wherever they are', async (t) => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, {}]))
  const tooMany = { name: 'InvalidSchema', message: 'has more than 500 subschemas' }
  await t.rejects(ObjectSchema.compile({ properties: many(500) }), tooMany)
  await t.rejects(
    ObjectSchema.compile({ properties: { a: { unknown: many(400), items: { $defs: many(99) } } } }),
    tooMany,
  )
  await ObjectSchema.compile({ properties: many(499) })
})

t.test('schemas that come one after the other leave nothing behind', async (t) => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const heldBytes = () => {
    for (let round = 0; round < 3; round++) collectGarbage()
    return process.memoryUsage().heapUsed
  }
  // The number is a multiple of a compiler's capacity, so that the last one is equally full both times.
  const compile = async (round: string) => {
    for (let count = 0; count < 150; count++) await ObjectSchema.compile(schemaOf(`${round}-${count}`))
  }
  await compile('first')
  const before = heldBytes()
  await compile('second')
  const grown = (heldBytes() - before) / 1e6
  t.ok(grown < 2.5, `${grown.toFixed(1)} MB more are held`)
})

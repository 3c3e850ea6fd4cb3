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

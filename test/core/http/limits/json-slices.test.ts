import fc from 'fast-check'
import t from 'tap'
import { parseSlices } from '../../../../core/http/limits/json-slices.ts'
import { amount } from '../../../kit/extent.ts'
import { SEED } from '../../../kit/seed.ts'

const parse = (text: string) => JSON.parse(text)
const inSlices = (text: string) => parseSlices(Buffer.from(text), parse)

/** Makes a text longer than what is parsed in one piece. */
const PADDING = Array.from({ length: 2000 }, (_, index) => ({ path: `assets/level "${index}" \\.json`, size: index }))

t.test('a long body is what JSON.parse makes of it', async (t) => {
  const member = fc.tuple(
    fc.string({ unit: 'grapheme' }),
    fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.array(fc.jsonValue({ maxDepth: 2 }))),
  )
  const bodies = fc.tuple(fc.array(member), fc.array(member), fc.constantFrom(0, 1, 2))
  await fc.assert(
    fc.asyncProperty(bodies, async ([before, after, indent]) => {
      const entries = [...before, ['padding', PADDING] as const, ...after].filter(([name]) => name !== '__proto__')
      const text = JSON.stringify(Object.fromEntries(entries), null, indent)
      t.same(await inSlices(text), JSON.parse(text))
    }),
    { numRuns: amount(15, 300), seed: SEED },
  )
  const twice = `{"padding":[1],"padding":${JSON.stringify(PADDING)},"padding":[]}`
  t.same(await inSlices(twice), { padding: [] })
})

t.test('what is no JSON is refused, wherever the fault is', async (t) => {
  const list = JSON.stringify(PADDING)
  const faulty = [
    `{"a":${list}`,
    `{"a":${list}}}`,
    `{"a":${list},}`,
    `{"a":${list.slice(0, -1)},]}`,
    `{"a":[,${list.slice(1)}}`,
    `{"a":${list.slice(0, -1)}}`,
    `{"a":${list} ${list}}`,
    `{"a":${list.replaceAll('},{', '},,{')}}`,
    `{a:${list}}`,
    `{"a":${list},"b":[1}`,
    `{"a":${list},"b":{"c":1]}`,
    `{"a":[${' '.repeat(70_000)},1]}`,
    `{"a":${list},"b":"`,
    `{"a":${list.replace('"size"', 'size')}}`,
    `${list}[`,
    '[[['.repeat(30_000),
  ]
  // The last comma ends a slice.
  faulty.push(`{"a":[${'1,'.repeat(32_769)}]}`)
  for (const text of faulty) await t.rejects(inSlices(text), text.slice(0, 20))
})

t.test('a long body has at most so many values, of whatever form', async (t) => {
  const most = 1 + 2000 * 3 + 5
  const within = (text: string) => parseSlices(Buffer.from(text), parse, { most, refusal: () => new Error('too many') })
  const text = JSON.stringify({ a: PADDING })
  t.same(await within(text), { a: PADDING })
  await t.rejects(within(JSON.stringify({ a: [...PADDING, ...PADDING.slice(0, 10)] })), { message: 'too many' })
  const small = ['1,', '{},', '[],', '{"a":1},', '[1,2],'].map((one) => `{"a":[${one.repeat(40_000)}1]}`)
  for (const many of small) await t.rejects(within(many), { message: 'too many' })
})

t.test('a part that cannot be divided has a bound', async (t) => {
  const long = JSON.stringify('x'.repeat(70_000))
  const escaped = JSON.stringify('"'.repeat(70_000))
  for (const value of [long, escaped, `[${long}]`, `[[${'1,'.repeat(40_000)}1]]`, `{"b":[${'1,'.repeat(40_000)}1]}`]) {
    await t.rejects(inSlices(`{"a":${value}}`), { code: 'invalid_request' })
  }
  await t.rejects(inSlices(`{${Array.from({ length: 9000 }, (_, i) => `"${i}":[]`).join(',')}}`), {
    code: 'invalid_request',
  })
  t.same(await inSlices(`{"a":[${'1,'.repeat(40_000)}1]}`), { a: Array(40_001).fill(1) })
})

import fc from 'fast-check'
import t from 'tap'
import { parseTexts } from '../../../../core/http/limits/json-texts.ts'
import { amount } from '../../../kit/extent.ts'
import { SEED } from '../../../kit/seed.ts'

const parse = (text: string) => JSON.parse(text)
const inSlices = (text: string) => parseTexts(Buffer.from(text), parse)

t.test('a long body is what JSON.parse makes of it', async (t) => {
  const piece = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.constantFrom('\\', '"', '\\\\', '\\"', '😀', '\n', 'の', 'x'.repeat(300), '\\u', '\u0001'),
  )
  const text = fc
    .tuple(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 1, max: 4000 }))
    .map(([pieces, times]) => pieces.join('').repeat(times).slice(0, 300_000))
  const bodies = fc.tuple(fc.jsonValue({ maxDepth: 3 }), fc.array(text, { maxLength: 6 }), fc.constantFrom(0, 1))
  await fc.assert(
    fc.asyncProperty(bodies, async ([value, texts, indent]) => {
      const body = JSON.stringify({ value, texts, padding: ['x'.repeat(70_000)], last: value }, null, indent)
      // Every second run escapes what is not ASCII, in pairs of surrogates too.
      const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
      const sent = texts.length % 2 ? body : body.replace(/[^\x20-\x7e\n]/g, escaped)
      t.same(await inSlices(sent), JSON.parse(sent))
    }),
    { numRuns: amount(30, 500), seed: SEED },
  )
})

t.test('escapes and characters that end where a slice ends are kept', async (t) => {
  for (const unit of ['\\nの', '\\u306eの', '\\u306e', '\\ud83d\\ude00', '\\\\', '\\"', '\\n', 'の', '😀', 'é']) {
    for (let before = 0; before < 13; before++) {
      const body = `{"a":"${'x'.repeat(before)}${unit.repeat(20_000)}","b":[1]}`
      t.same(await inSlices(body), JSON.parse(body))
    }
  }
})

t.test('what is no JSON is refused, wherever the fault is', async (t) => {
  const long = JSON.stringify('x'.repeat(70_000))
  const faulty = [`{"a":${long}`, `{"a":${long},}`, `{"a":${long} ${long}}`, `{"a":${long.slice(0, -1)}}`, `{${long}}`]
  faulty.push(`{"a":"${'x'.repeat(70_000)}\\x"}`, `{"a":"${'x'.repeat(70_000)}\n"}`, `"${'\\'.repeat(70_001)}"`)
  for (const text of faulty) await t.rejects(inSlices(text), text.slice(0, 20))
})

t.test('what is left without its long texts has a bound', async (t) => {
  const bytes = 300_000
  const refused = [
    `[${'1,'.repeat(bytes / 2)}1]`,
    '['.repeat(bytes),
    `{"${'x'.repeat(bytes)}":1}`,
    `[${'"a",'.repeat(bytes / 4)}1]`,
    ' '.repeat(bytes),
    `{"a":"x"${' '.repeat(bytes)}`,
  ]
  for (const text of refused) await t.rejects(inSlices(text), { code: 'invalid_request' }, text.slice(0, 20))
  await t.rejects(inSlices('['.repeat(70_000) + ']'.repeat(70_000)), { code: 'invalid_request' }, 'a deep one')
  const texts = Array.from({ length: 4000 }, (_, at) => String(at).repeat(100))
  t.same(await inSlices(JSON.stringify(texts)), texts)
})

import t from 'tap'
import Type, { type TSchema } from 'typebox'
import { sentenceOf, validationDetails } from '../../../core/http/forms/validation-messages.ts'
import { validatorCompiler } from '../../../core/http/validation.ts'
import { VISIBLE_PATTERN } from '../../../core/visible-text.ts'

type Validator = { (data: unknown): boolean; errors?: unknown[] | null }

const validatorOf = (schema: TSchema, httpPart = 'body') =>
  validatorCompiler({ schema, httpPart, method: 'POST', url: '/' }) as unknown as Validator

const Closed = Type.Object({ path: Type.String() }, { additionalProperties: false })

t.test('validation stops at 50 errors, and does not look at the rest', async (t) => {
  let looked = 0
  const faulty = new Proxy(Array(10_000).fill({ path: 1 }), {
    get(items, name, self) {
      if (typeof name === 'string' && /^\d+$/.test(name)) looked++
      return Reflect.get(items, name, self)
    },
  })
  const validate = validatorOf(Type.Array(Closed))
  t.equal(validate(faulty), false)
  t.equal(validate.errors?.length, 50)
  t.ok(looked < 200, `${looked} items of 10,000`)
  const names = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`f${index}`, 1]))
  t.equal(validatorOf(Closed)(names), false)
  const lists = validatorOf(Type.Object({ lists: Type.Array(Type.Array(Type.Integer())) }), 'querystring')
  t.equal(lists({ lists: Array(100).fill(Array(100).fill('x')) }), false)
  t.equal(lists.errors?.length, 50)
})

t.test('all errors of an ordinary body are listed', async (t) => {
  const validate = validatorOf(
    Type.Object({ a: Type.String(), b: Type.Array(Closed) }, { additionalProperties: false }),
  )
  t.equal(validate({ b: [{ path: 'x' }, { path: 1, odd: 2 }], c: 3 }), false)
  t.strictSame(validate.errors?.map((error) => (error as { keyword: string }).keyword).sort(), [
    'additionalProperties',
    'additionalProperties',
    'required',
    'type',
  ])
  t.equal(validate({ a: '', b: [] }), true)
  t.notOk(validate.errors, 'errors of an earlier body are forgotten')
})

t.test('a part of a union may have more errors than are listed when another part is valid', async (t) => {
  const validate = validatorOf(Type.Union([Type.Array(Type.String()), Type.Array(Type.Integer())]))
  t.equal(validate(Array(1000).fill(1)), true)
  t.equal(validate([...Array(1000).fill(1), null]), false)
  t.equal(validate.errors?.length, 50)
})

/** The details of a body that is refused, one line each. */
const linesOf = (schema: TSchema, body: unknown, httpPart = 'body'): string[] => {
  const validate = validatorOf(Type.Object({ field: schema }, { additionalProperties: false }), httpPart)
  t.equal(validate(body), false)
  return validationDetails({ validation: validate.errors as never }).map(sentenceOf)
}

t.test('each field has one line, which says what to do', async (t) => {
  const Slug = Type.String({ pattern: '^[a-z]{1,30}$', minLength: 1, advice: 'Use 1 to 30 of a-z.' })
  const Word = Type.Union([Type.Literal('on'), Type.Literal('off'), Type.Literal('auto')])
  const cases: [schema: TSchema, value: unknown, ...lines: string[]][] = [
    [Slug, 'A b', 'field: Use 1 to 30 of a-z.'],
    [Slug, '', 'field must not be empty.'],
    [Slug, 7, 'field must be a string.'],
    [Type.Array(Slug), ['a', 'B', 'C'], 'field.1: Use 1 to 30 of a-z.', 'field.2: Use 1 to 30 of a-z.'],
    [Type.String({ pattern: VISIBLE_PATTERN, minLength: 2 }), ' ', 'field must have at least 2 characters.'],
    [Type.String({ pattern: VISIBLE_PATTERN }), ' ', 'field must have a visible character.'],
    [Type.String({ pattern: '^x$' }), 'y', 'field does not have the form that its description asks for.'],
    [Word, 'maybe', 'field must be one of on, off, auto.'],
    [Word, 7, 'field must be one of on, off, auto.'],
    [Type.Enum(['on', 'off']), 'maybe', 'field must be one of on, off.'],
    [Type.Union([Type.Literal('auto'), Type.Boolean()]), 'on', 'field must be auto or true or false.'],
    [Type.Union([Type.String({ maxLength: 3 }), Type.Null()]), 'long', 'field must have at most 3 characters.'],
    [Type.Union([Type.String({ maxLength: 3 }), Type.Null()]), 7, 'field must be a string or null.'],
    [Type.Union([Word, Type.Null()]), 'maybe', 'field must be on, off, auto or null.'],
    [Type.Integer({ minimum: 1, maximum: 9 }), 10, 'field must be at most 9.'],
    [Type.Integer(), 1.5, 'field must be a whole number.'],
    [Type.String({ format: 'uri' }), 'x', 'field must be a whole web address.'],
    [Type.Array(Type.String(), { maxItems: 1 }), ['a', 'b'], 'field must have at most 1 entries.'],
  ]
  for (const [schema, field, ...lines] of cases) t.strictSame(linesOf(schema, { field }), lines, JSON.stringify(field))
  t.strictSame(linesOf(Word, {}), ['field is required.'])
  t.strictSame(linesOf(Word, { field: 'on', other: 1 }), ['other is not a known field.'])
  t.strictSame(linesOf(Word, 'text'), ['(body) must be an object.'])
})

t.test('of a union of objects, the one that is meant is described', async (t) => {
  const Target = Type.Union([
    Type.Object({ kind: Type.Literal('game'), id: Type.String({ minLength: 5 }) }),
    Type.Object({ kind: Type.Literal('player'), name: Type.String({ minLength: 5 }) }),
  ])
  t.strictSame(linesOf(Target, { field: { kind: 'player', name: 'x' } }), [
    'field.name must have at least 5 characters.',
  ])
  t.strictSame(linesOf(Target, { field: { kind: 'game' } }), ['field.id is required.'])
  t.strictSame(linesOf(Target, { field: { kind: 'team' } }), ['field must be an object.'])
  const many = linesOf(Type.Array(Target), { field: Array(100).fill({ kind: 'team' }) })
  t.ok(many.length > 0 && many.every((line) => !line.includes('constant')), 'also where the list of errors is cut off')
})

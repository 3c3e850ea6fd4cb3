import t from 'tap'
import Type, { type TSchema } from 'typebox'
import { validatorCompiler } from '../../../core/http/validation.ts'

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

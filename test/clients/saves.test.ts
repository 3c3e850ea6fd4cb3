// Values of saves in browsers: what comes back is what was saved, or saving it is a TypeError.
import t from 'tap'
import { decode, encode } from '../../clients/browser/saves/values.ts'

t.test('a value comes back as it was', async (t) => {
  class Progress {
    level = 3
  }
  const shared = { x: 1 }
  for (const value of [
    null,
    true,
    0.1,
    'Zoë \ud800',
    [],
    [1, [null]],
    { a: { b: [shared, shared] }, '': 1, ['__proto__']: 2 },
    Object.create(null),
  ])
    t.same(decode(await encode(value)), value)
  t.same(decode(await encode({ kept: 1, absent: undefined })), { kept: 1 }, 'reading `absent` gives the same')
  t.same(decode(await encode(new Progress())), { level: 3 })
  t.equal(decode(await encode({ toJSON: () => 'as it says itself' })), 'as it says itself')
  for (const type of ['application/json', 'application/json;charset=utf-8', 'text/plain']) {
    const blob = decode(await encode(new Blob(['{"a":1}'], { type }))) as Blob
    t.same([blob.type, await blob.text()], [type, '{"a":1}'])
  }
})

t.test('a value that JSON would change is a TypeError that says where it is', async (t) => {
  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  for (const value of [
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    undefined,
    10n,
    () => 1,
    Symbol('x'),
    new Map([[1, 2]]),
    new Set([1]),
    new Date(),
    /x/,
    new Error('x'),
    Promise.resolve(),
    Object(1),
    cycle,
  ]) {
    await t.rejects(encode(value), { name: 'TypeError' }, String(value))
    if (value !== undefined)
      await t.rejects(encode({ deep: [{ value }] }), { name: 'TypeError' }, `${String(value)} in`)
    await t.rejects(encode([value]), { name: 'TypeError' }, `${String(value)} in a list`)
  }
  for (const value of [new Uint8Array(1), new ArrayBuffer(1), new Blob(['x'])])
    await t.rejects(encode({ value }), { name: 'TypeError' })
  await t.rejects(encode({ player: { speed: [1, Number.NaN] } }), { message: /^The value\.player\.speed\[1\] is NaN/ })
})

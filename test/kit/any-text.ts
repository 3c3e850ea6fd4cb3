import fc, { type Arbitrary } from 'fast-check'

const CHARACTER = fc
  .oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 0xff }) },
    { weight: 2, arbitrary: fc.integer({ min: 0x100, max: 0xd7ff }) },
    { weight: 3, arbitrary: fc.integer({ min: 0xe000, max: 0x10ffff }) },
  )
  .map((codePoint) => String.fromCodePoint(codePoint))

/**
 * Makes texts of arbitrary code points, control characters and unassigned ones included, but no surrogates. It is what
 * `fc.string({ unit: 'binary' })` makes. That one builds a table of a million characters first, which takes two seconds.
 */
export const anyText = ({ maxLength }: { maxLength: number }): Arbitrary<string> =>
  fc.array(CHARACTER, { maxLength }).map((characters) => characters.join(''))

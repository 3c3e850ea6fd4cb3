/**
 * Whether the name of a file carries a digest of its content by its form, as bundlers write it: `index-BsX9_a1b.js` (Vite,
 * Rollup), `main.3f2a9c1b.chunk.css` (webpack, Parcel), `chunk-K7QX2M5A.js` (esbuild), `page-0bd6ee1b4d8bfa1c.js` (Next),
 * `3f2a9c1bd4e5f6070a1b2c3d4e5f6071.data` (Unity).
 *
 * A false positive would leave players with an old file for a year; a false negative costs a 304. So names that people and
 * engines give do not count: words, numbers, dates, versions, dimensions (`Tile_3x4`), coordinates (`x1y2z3w4`), and UUIDs,
 * which Cocos Creator keeps when a picture changes.
 */
export function carriesDigest(path: string): boolean {
  const slash = path.lastIndexOf('/')
  const name = path
    .slice(slash + 1)
    .replace(/\.(?:br|gz|map)$/, '')
    .replace(UUID, '')
  const parts = name.split('.').slice(0, -1)
  // SvelteKit and Nuxt name a file by the digest alone, in a folder of their own.
  const alone = /(?:^|\/)(?:immutable|_nuxt)\//.test(path.slice(0, slash + 1))
  return parts.some((part, index) => isDigestPart(part, { isFirst: index === 0, alone }))
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi

/** @param place `isFirst`: nothing stands before it but a folder; `alone`: such a part may be a digest of any length */
function isDigestPart(part: string, { isFirst, alone }: { isFirst: boolean; alone: boolean }): boolean {
  const [, before = '', hex = ''] = /^(?:(.*)[-_])?([0-9a-f]{8,64})$/.exec(part) ?? []
  if (hex.length >= 16) return isLongHex(hex)
  // After an underscore people write numbers, such as the address in `dump_00c0ffee`.
  if (hex !== '' && (isFirst ? part.at(-hex.length - 1) === '-' && before !== '' : true)) return isShortHex(hex)
  const mixed = part.slice(-8)
  if (mixed.length < 8) return false
  const separated = part.length === 8 ? !isFirst || alone : part.at(-9) === '-'
  if (!separated) return false
  if (part.length > 8 && /^chunk-[A-Z2-7]{8}$/.test(part)) return true
  return isBase32(mixed) || isBase64(mixed)
}

/** The runs in which people write names: a word with or without a capital, an acronym, a number. */
const runsOf = (text: string): string[] => text.match(/[A-Z]?[a-z]+|[A-Z]+|[0-9]+/g) ?? []

/** A digest of 64 bits or more. A UUID of version 4 without its dashes is none, and neither is a number. */
const isLongHex = (hex: string): boolean =>
  /[0-9].*[0-9].*[0-9]/.test(hex) && /[a-f].*[a-f].*[a-f]/.test(hex) && !/^.{12}4.{3}[89ab].{15}$/.test(hex)

/** A digest of 32 to 60 bits: letters and digits in turn, without a word such as `face`, and not as in `a1b2c3d4`. */
function isShortHex(hex: string): boolean {
  const runs = runsOf(hex).length
  const letters = hex.replace(/[0-9]/g, '')
  const isSequence = alternates(hex) && [...letters].sort().join('') === letters
  return (runs >= 4 || (runs === 3 && !/[a-f]{3}/.test(hex))) && !isSequence
}

/** Eight characters of base32, as esbuild writes them. */
const isBase32 = (text: string): boolean => /^[A-Z2-7]{8}$/.test(text) && runsOf(text).length >= 4 && !alternates(text)

/** Eight characters of base64url: upper and lower case in more runs than names have. */
function isBase64(text: string): boolean {
  if (!/^[A-Za-z0-9_-]{8}$/.test(text) || !/[A-Z]/.test(text) || !/[a-z]/.test(text)) return false
  // `Run_3x4b` has a dimension, and `A-v2-b1c` a version.
  const runs = runsOf(text.replace(/[0-9]+x[0-9]+/gi, '0').replace(/(?<![A-Za-z])v[0-9]+/gi, '0'))
  const hasWord = runs.some((run) => /^(?:[A-Za-z][a-z]{2,}|[A-Z]{3,})$/.test(run) && /[aeiouy]/i.test(run))
  const isPlain = hasWord || !/[0-9]/.test(text) || /[-_]/.test(text)
  return runs.length >= (isPlain ? 5 : 4) && !alternates(text)
}

/** Letters with a number each, as coordinates are written: `x10y20z3`, `A1B2C3D4`. */
const alternates = (text: string): boolean => /^(?:[A-Za-z][0-9]+)+$|^(?:[0-9]+[A-Za-z])+$/.test(text)

import { setImmediate as nextTurn } from 'node:timers/promises'
import Type, { type Static, type TSchema } from 'typebox'
import { InvalidRequest } from '../errors.ts'
import { type IdPrefix, isId } from '../ids.ts'

/** The number of rows that `inPages` reads at once. */
const ROWS = 100

/** The query parameters of every list. */
export const PageQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Entries a page.' }),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`nextCursor` of the page before.' })),
})
export type PageQuery = Static<typeof PageQuery>

/** Returns the schema of a list response: the entries under their plural, and the cursor of the next page. */
export const pageOf = <Name extends string, Entry extends TSchema>(plural: Name, entry: Entry) =>
  Type.Object({
    [plural]: Type.Array(entry),
    nextCursor: Type.Union([Type.String(), Type.Null()]),
  } as { [key in Name]: ReturnType<typeof Type.Array<Entry>> } & { nextCursor: typeof NextCursor })

const NextCursor = Type.Union([Type.String(), Type.Null()])

/** Cuts one page out of `limit + 1` rows in descending order of id. The extra row only indicates another page. */
export function cutPage<Row extends { id: string }>(
  rows: Row[],
  limit: number,
): { page: Row[]; nextCursor: string | null } {
  const page = rows.slice(0, limit)
  return { page, nextCursor: rows.length > limit ? (page.at(-1)?.id ?? null) : null }
}

/**
 * Returns the cursor of a list in the order of its ids; undefined for the first page. Ids of other things, cursors of
 * other lists and made-up ones are refused, because they would lead to a page that looks like the end of the list.
 *
 * @param prefix of the ids of the list
 * @throws InvalidRequest
 */
export function mustBeCursor(prefix: IdPrefix, cursor: string | undefined): string | undefined {
  if (cursor && !isId(prefix, cursor)) throw new OtherCursor()
  return cursor || undefined
}

/** The refusal of a cursor that a list did not give. */
export class OtherCursor extends InvalidRequest {
  override details = [{ path: 'cursor', message: 'is not of this list' }]

  constructor() {
    super('The cursor is not of this list; begin with the first page.')
  }
}

/**
 * Reads rows of any number in pages, each in a turn of the event loop of its own. There is always one page, which can
 * be empty.
 *
 * @param read returns at most `limit` rows that follow the row `after` in an order that is unique; null for the first
 */
export async function* inPages<Row>(
  read: (after: Row | null, limit: number) => Promise<Row[]>,
): AsyncGenerator<Row[], void> {
  let after: Row | null = null
  do {
    const page: Row[] = await read(after, ROWS)
    yield page
    after = page.length < ROWS ? null : (page.at(-1) ?? null)
    await nextTurn()
  } while (after !== null)
}

/** The greatest values that columns take: `integer` of PostgreSQL, and the last instant that it reads as text. */
const GREATEST = { integer: 2 ** 31 - 1, instant: Date.UTC(10_000, 0) - 1 }

/**
 * Whether a value of a cursor can be compared with a column. Callers make up cursors, and a database refuses to compare
 * with what no column holds.
 *
 * @param value an `instant` in ms since 1970
 */
export const fitsColumn = (value: unknown, kind: keyof typeof GREATEST): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= GREATEST[kind]

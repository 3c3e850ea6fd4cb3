import type { CallOptions, Connection, RequestOptions } from './connection.ts'

/** One page of a list. */
export interface Page<Item> {
  items: Item[]
  /** Where the next one begins; null after the last. */
  nextCursor: string | null
}

/** A list that is fetched page by page as it is walked through: `for await (const item of list) …` */
export interface List<Item> extends AsyncIterable<Item> {
  /** One page, for those who turn pages themselves. */
  page(cursor?: string): Promise<Page<Item>>
  /** All of it, or the first so many. */
  toArray(most?: number): Promise<Item[]>
}

/** @param plural the field of the answer that has the items */
export function list<Item>(
  connection: Connection,
  path: string,
  plural: string,
  { query, signal, origin }: Pick<RequestOptions, 'query' | 'origin'> & CallOptions,
): List<Item> {
  const page = async (cursor?: string): Promise<Page<Item>> => {
    const options = { query: { ...query, cursor }, signal, origin }
    const answer = await connection.json<Record<string, unknown>>('GET', path, options)
    return { items: answer[plural] as Item[], nextCursor: (answer.nextCursor as string | null) ?? null }
  }
  async function* walk() {
    for (let cursor: string | undefined; ; ) {
      const { items, nextCursor } = await page(cursor)
      yield* items
      if (nextCursor === null) return
      cursor = nextCursor
    }
  }
  return {
    page,
    [Symbol.asyncIterator]: walk,
    async toArray(most = Number.POSITIVE_INFINITY) {
      const items: Item[] = []
      if (most < 1) return items
      for await (const item of walk()) if (items.push(item) >= most) break
      return items
    },
  }
}

import type { CallOptions, Connection, RequestOptions } from './connection.ts'
import { readJson, unexpected } from './response-body.ts'

/** One page of a list. */
export interface Page<Item> {
  items: Item[]
  /** The cursor of the next page; null after the last. */
  nextCursor: string | null
}

/** A list that loads its pages during iteration: `for await (const item of list) …` */
export interface List<Item> extends AsyncIterable<Item> {
  /** Fetches one page, for callers that handle pages themselves. */
  page(cursor?: string): Promise<Page<Item>>
  /** Collects all items, or the first `most`. */
  toArray(most?: number): Promise<Item[]>
}

/** @param plural the field of the response that holds the items */
export function list<Item>(
  connection: Connection,
  path: string,
  plural: string,
  { query, signal, origin }: Pick<RequestOptions, 'query' | 'origin'> & CallOptions,
): List<Item> {
  const page = (cursor?: string): Promise<Page<Item>> => {
    const options = { query: { ...query, cursor }, signal, origin }
    return connection.receive('GET', path, options, async (response) => {
      const answer = (await readJson(response)) as Record<string, unknown> | undefined
      const items = answer?.[plural]
      if (!Array.isArray(items)) throw unexpected(response)
      return { items, nextCursor: (answer?.nextCursor as string | null) ?? null }
    })
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

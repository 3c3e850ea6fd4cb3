// Nobody should have to read a regular expression to correct a request.
import t from 'tap'
import { VISIBLE_PATTERN } from '../../core/visible-text.ts'
import { startPlatform } from '../kit/platform.ts'

/** Yields every subschema with the path to it. */
function* subschemas(schema: unknown, path: string): Generator<[path: string, schema: Record<string, unknown>]> {
  if (typeof schema !== 'object' || schema === null) return
  yield [path, schema as Record<string, unknown>]
  for (const [name, value] of Object.entries(schema)) yield* subschemas(value, `${path}.${name}`)
}

t.test('every pattern in the schema of a request has a sentence about the form', async (t) => {
  const { app } = await startPlatform(t)
  let patterns = 0
  for (const { method, url, schema } of app.routeTable.entries) {
    for (const part of ['params', 'querystring', 'body', 'headers'] as const) {
      for (const [path, { pattern, advice, type }] of subschemas(schema[part], part)) {
        if (typeof pattern !== 'string' || type !== 'string' || pattern === VISIBLE_PATTERN) continue
        patterns++
        t.match(advice, /^[A-Z].*\.$/, `${method} ${url}: ${path}`)
      }
    }
  }
  t.ok(patterns > 15)
})

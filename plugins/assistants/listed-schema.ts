import { VISIBLE_PATTERN } from '../../core/visible-text.ts'

/** Keywords whose members are named by the author of a schema, and hold a schema each. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
/** Keywords that hold values, not schemas. */
const VALUES = new Set(['const', 'default', 'enum', 'examples', 'required'])
const VISIBLE_ADVICE = 'Must have a visible character.'

/**
 * What each of the languages of assistants reads as a regular expression: characters, classes, groups, alternatives,
 * repetitions, and the escapes that all of them know. There is no `\p{…}`, no look-around and no back-reference.
 */
const PLAIN_PATTERN = /^(?:[^\\(]|\\[dDwWsSnrtfv]|\\x[\dA-Fa-f]{2}|\\[^\w\s]|\((?:\?:|(?!\?)))*$/

/**
 * Returns a schema as the list of tools shows it. Some providers of models refuse all tools for one pattern that their
 * own language does not read, and our keyword `advice` is unknown to them, so it becomes part of the description. A call
 * is validated by the whole schema all the same.
 */
export function listedSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(listedSchema)
  if (typeof schema !== 'object' || schema === null) return schema
  const { advice, pattern, description, ...others } = schema as Record<string, unknown>
  const told = typeof advice === 'string' ? advice : pattern === VISIBLE_PATTERN ? VISIBLE_ADVICE : null
  const words = [description, told].filter((part) => typeof part === 'string').join(' ')
  const shown = Object.entries(others).map(([key, value]) => [key, VALUES.has(key) ? value : within(key, value)])
  return {
    ...Object.fromEntries(shown),
    ...(typeof pattern === 'string' && PLAIN_PATTERN.test(pattern) ? { pattern } : {}),
    ...(words ? { description: words } : {}),
  }
}

function within(key: string, value: unknown): unknown {
  if (!NAMED.has(key) || typeof value !== 'object' || value === null) return listedSchema(value)
  const members = Object.entries(value).map(([name, schema]) => [name, listedSchema(schema)] as const)
  // A name by a pattern of another language is any name.
  return Object.fromEntries(
    members.map(([name, schema]) => [key === 'patternProperties' && !PLAIN_PATTERN.test(name) ? '^' : name, schema]),
  )
}

import { withoutThoughts } from './reasoning.ts'

/** A block of code: on lines of its own or on one line, with or without a language. */
const FENCE = /```[ \t]*([\w+-]*)\s*([\s\S]*?)```/g

/**
 * Finds the JSON value in the answer of a model: the whole text, else the text without thoughts, else the only code block
 * with JSON, else the only object or array in the prose. Two of them are none, since nothing says which one is meant.
 *
 * @returns the value, or undefined
 */
export function jsonIn(text: string): unknown {
  const whole = parsed(text)
  if (whole !== undefined) return whole
  const answer = withoutThoughts(text.replace(/^\uFEFF/, ''))
  const bare = parsed(answer)
  if (bare !== undefined) return bare
  const fenced = [...answer.matchAll(FENCE)].map(([, , inner = '']) => parsed(inner)).filter(isValue)
  // A block may also be cut short by a ``` within one of its strings; the brackets tell then.
  const found = fenced.length > 0 ? fenced : balancedIn(answer)
  return found.length === 1 ? found[0] : undefined
}

const isValue = (value: unknown) => value !== undefined

function parsed(text: string): unknown {
  try {
    // `trim` also removes a byte order mark.
    return JSON.parse(text.trim())
  } catch {
    return undefined
  }
}

/**
 * Returns the objects and arrays that stand in a prose, in one pass. A bracket that is never closed ends the search: what
 * it contains is a part of a value, not the value.
 */
function balancedIn(text: string): unknown[] {
  const found: unknown[] = []
  let start = -1
  let depth = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (quoted) {
      if (character === '\\') at++
      else if (character === '"') quoted = false
    } else if (character === '{' || character === '[') {
      if (depth++ === 0) start = at
    } else if (depth > 0) {
      if (character === '"') quoted = true
      if ((character === '}' || character === ']') && --depth === 0) {
        const value = parsed(text.slice(start, at + 1))
        if (value !== undefined) found.push(value)
      }
    }
  }
  return depth > 0 ? [] : found
}

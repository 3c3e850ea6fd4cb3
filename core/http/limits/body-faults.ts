import { type ErrorDetail, InvalidRequest } from '../../errors.ts'

/** Maximum nesting of a body: more than sensible input needs, and within the recursion limit. */
const DEEPEST = 100
const LONGEST_PATH = 200

/**
 * Finds faults of a body that schemas do not detect and that no later code may meet: a nesting deep enough to
 * overflow the stack, and invalid text (NUL, which databases refuse, and lone surrogates, which have no UTF-8
 * encoding).
 */
export function faultOf(body: unknown): ErrorDetail | null {
  const fault = find(body, 0)
  return fault && { path: fault.path.reverse().join('.').slice(0, LONGEST_PATH) || '(body)', message: fault.message }
}

/** The lists of a body whose elements were examined while the body was parsed. */
const examined = new WeakSet<object>()

/** Notes that `faultOf` has examined all elements of a list, a few at a time. */
export const noteExamined = (list: object): void => void examined.add(list)

/** Returns the refusal of a body with a fault. */
export const faultyBody = (fault: ErrorDetail): Error =>
  new InvalidRequest(`The request body is not valid: ${fault.path} ${fault.message}.`).with({ details: [fault] })

/** @returns the path from the inside out */
function find(value: unknown, depth: number): { path: string[]; message: string } | null {
  if (depth > DEEPEST) return { path: [], message: `is nested more than ${DEEPEST} levels deep` }
  if (typeof value === 'string') {
    const message = textFault(value)
    return message === null ? null : { path: [], message }
  }
  if (!Array.isArray(value) && !isRecord(value)) return null
  if (examined.has(value)) return null
  for (const name of Object.keys(value)) {
    const message = textFault(name)
    const fault = message === null ? find(value[name as never], depth + 1) : { path: [], message }
    if (!fault) continue
    fault.path.push(name)
    return fault
  }
  return null
}

function textFault(text: string): string | null {
  if (text.includes('\0')) return 'has the control character NUL'
  return text.isWellFormed() ? null : 'is not valid Unicode'
}

/** Whether a value is an object of JSON or a form, with or without a prototype. Streams and buffers are not. */
function isRecord(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

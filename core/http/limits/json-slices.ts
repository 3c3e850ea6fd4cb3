import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { InvalidRequest } from '../../errors.ts'
import { faultOf, faultyBody, noteExamined } from './body-faults.ts'
import { malformed, type ParseJson, parseJsonBy } from './long-json.ts'

/** A body up to this length is parsed in one piece. */
const SHORT_BYTES = 64 * 1024
/** The bytes that are parsed in one turn of the event loop; about a millisecond of work. */
const SLICE_BYTES = 64 * 1024
/** The longest element of a list, and the longest text outside of lists. */
const LONGEST_BYTES = 64 * 1024

const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = Buffer.from('"\\,[]{}')

/** The number of commas, lists and objects that a long body may have: a list of small values takes many times its bytes. */
export interface MostValues {
  most: number
  /** Makes the error for a body that has more. */
  refusal(): Error
}

/** The digests of bodies that were parsed in slices. */
const digests = new WeakMap<object, string>()

/** Returns the SHA-256 of the text of a body, if it was parsed in slices. Its JSON need not be written again then. */
export const digestOfBody = (body: unknown): string | undefined =>
  typeof body === 'object' && body !== null ? digests.get(body) : undefined

/**
 * Makes a scope parse long JSON bodies in slices, for routes whose body is an object with a long list. Each turn of the
 * event loop parses some elements of the list, so that other requests are answered meanwhile.
 *
 * @throws InvalidRequest for a body that is not JSON; for a long one also when something in it is longer than 64 KiB,
 *   except the lists at its top
 * @throws the refusal of a long body with too many values
 */
export const parseJsonInSlices = (app: FastifyInstance, values: MostValues): void =>
  parseJsonBy(app, (body, parse) => parseSlices(body, parse, values))

/**
 * Parses the text of a JSON value as `parse` does. A long one must be an object; the elements of the lists in it are
 * parsed in groups.
 */
export async function parseSlices(body: Buffer, parse: ParseJson, values?: MostValues): Promise<unknown> {
  if (body.length <= SHORT_BYTES) return parse(body.toString())
  const hash = createHash('sha256')
  const { outline, lists } = await split(body, { hash, parse, values })
  // Each list of the outline has one element, its place among the lists.
  const value = parse(outline)
  if (typeof value !== 'object' || value === null) throw malformed()
  for (const [name, found] of Object.entries(value)) {
    if (Array.isArray(found)) Object.assign(value, { [name]: lists[found[0] as number] })
  }
  digests.set(value, hash.digest('hex'))
  return value
}

/** Parses the lists of an object, and returns its text with each of them replaced by its number. */
async function split(
  body: Buffer,
  { hash, parse, values }: { hash: ReturnType<typeof createHash>; parse: ParseJson; values: MostValues | undefined },
): Promise<{ outline: string; lists: unknown[][] }> {
  const lists: unknown[][] = []
  let outline = ''
  let outlineFrom = 0
  let groupFrom = 0
  let elementFrom = 0
  let depth = 0
  let turnFrom = 0
  let left = values?.most ?? Number.POSITIVE_INFINITY
  let list: unknown[] | null = null
  const endGroup = (end: number, isWhole: boolean) => {
    const elements = parse(`[${body.toString('utf8', groupFrom, end)}]`) as unknown[]
    // A comma before the end of the list, or at its beginning, makes a group without elements.
    if (elements.length === 0 && !isWhole) throw malformed()
    const fault = faultOf(elements)
    if (fault) throw faultyBody(fault)
    for (const element of elements) list?.push(element)
    groupFrom = end + 1
  }
  const mustBeShort = (from: number, at: number) => {
    if (at - from > LONGEST_BYTES) throw tooLong()
  }
  for (let at = 0; at < body.length; at++) {
    if (at - turnFrom >= SLICE_BYTES) {
      hash.update(body.subarray(turnFrom, at))
      turnFrom = at
      mustBeShort(list ? elementFrom : outlineFrom, at)
      await nextTurn()
    }
    const byte = body[at]
    if (byte === QUOTE) {
      at = endOfString(body, at)
      continue
    }
    if ((byte === COMMA || byte === OPEN || byte === OPEN_LIST) && --left < 0 && values) throw values.refusal()
    if (byte === OPEN || byte === OPEN_LIST) {
      depth++
      if (depth === 2 && byte === OPEN_LIST) {
        outline += body.toString('utf8', outlineFrom, at + 1) + lists.length
        mustBeShort(0, outline.length)
        list = []
        lists.push(list)
        groupFrom = at + 1
        elementFrom = at + 1
      }
    } else if (byte === CLOSE || byte === CLOSE_LIST) {
      if (depth === 2 && list) {
        mustBeShort(elementFrom, at)
        endGroup(at, list.length === 0)
        noteExamined(list)
        list = null
        outlineFrom = at
      }
      depth--
    } else if (byte === COMMA && depth === 2 && list) {
      mustBeShort(elementFrom, at)
      elementFrom = at + 1
      if (at - groupFrom >= SLICE_BYTES) endGroup(at, false)
    }
  }
  if (list) throw malformed()
  mustBeShort(outlineFrom, body.length)
  hash.update(body.subarray(turnFrom))
  outline += body.toString('utf8', outlineFrom)
  mustBeShort(0, outline.length)
  return { outline, lists }
}

/** Returns the place of the quotation mark that ends a string, or of the end of the body. */
function endOfString(body: Buffer, start: number): number {
  for (let at = start + 1; ; at++) {
    at = body.indexOf(QUOTE as number, at)
    if (at < 0) throw malformed()
    if (at - start > LONGEST_BYTES) throw tooLong()
    let backslashes = 0
    while (body[at - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return at
  }
}

const tooLong = () => new InvalidRequest('The request body has a text, or an element of a list, of more than 64 KiB.')

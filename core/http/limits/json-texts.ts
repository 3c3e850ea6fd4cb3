import { randomBytes } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { InvalidRequest } from '../../errors.ts'
import { faultOf, faultyBody } from './body-faults.ts'
import { malformed, type ParseJson, parseJsonBy } from './long-json.ts'

/** A body up to this length is parsed in one piece. */
const SHORT_BYTES = 64 * 1024
/** The bytes that are read in one turn of the event loop; about a millisecond of work. */
const SLICE_BYTES = 64 * 1024
/** A longer text is parsed by itself. */
const LONG_TEXT_BYTES = 256
/** The longest body without its long texts. Parsing it takes one turn, of 30 ms for the most awkward one. */
const OUTLINE_BYTES = 256 * 1024

const [QUOTE, BACKSLASH, COLON, LOWER_U] = Buffer.from('"\\:u')

/**
 * Makes a scope parse long JSON bodies in slices, for routes whose bodies carry files as text. Each turn of the event
 * loop reads 64 KiB, so that other requests are answered meanwhile.
 *
 * @throws InvalidRequest for a body that is not JSON; for a long one also when it has more than 256 KiB without its texts
 */
export const parseLongTexts = (app: FastifyInstance): void => parseJsonBy(app, parseTexts)

/** Parses the text of a JSON value as `parse` does; the long texts of a long one are parsed in slices. */
export async function parseTexts(body: Buffer, parse: ParseJson): Promise<unknown> {
  if (body.length <= SHORT_BYTES) return parse(body.toString())
  // Nobody can know this mark, so no text of the body looks like the place of another one.
  const mark = `${randomBytes(16).toString('hex')}:`
  const { outline, texts } = await split(body, mark, parse)
  const value = parse(outline)
  // The deepest allowed nesting is well within the recursion of `restore`.
  const fault = faultOf(value)
  if (fault) throw faultyBody(fault)
  return restore(value, (text) => (text.startsWith(mark) ? (texts[Number(text.slice(mark.length))] as string) : text))
}

function restore(value: unknown, textOf: (text: string) => string): unknown {
  if (typeof value === 'string') return textOf(value)
  if (typeof value !== 'object' || value === null) return value
  const record = value as Record<string, unknown>
  for (const name of Object.keys(record)) record[name] = restore(record[name], textOf)
  return value
}

/** Parses the long texts, and returns the rest of the body with each of them replaced by its number after the mark. */
async function split(body: Buffer, mark: string, parse: ParseJson): Promise<{ outline: string; texts: string[] }> {
  const texts: string[] = []
  const parts: string[] = []
  let length = 0
  let turnFrom = 0
  const keep = (from: number, to: number) => {
    length += to - from
    if (length > OUTLINE_BYTES) throw tooLong()
    parts.push(body.toString('utf8', from, to))
  }
  let from = 0
  for (let start = body.indexOf(QUOTE as number); start !== -1; start = body.indexOf(QUOTE as number, start)) {
    // The rest of the body may have few texts.
    if (start - from > OUTLINE_BYTES) throw tooLong()
    let end = start
    do {
      end = body.indexOf(QUOTE as number, end + 1)
      if (end === -1) throw malformed()
      if (end - turnFrom >= SLICE_BYTES) {
        turnFrom = end
        await nextTurn()
      }
    } while (isEscaped(body, end))
    if (end - start > LONG_TEXT_BYTES && !isName(body, end)) {
      keep(from, start)
      parts.push(`"${mark}${texts.length}"`)
      texts.push(await parseText(body, start + 1, end, parse))
      from = end + 1
    } else if (end - from > OUTLINE_BYTES) throw tooLong()
    start = end + 1
  }
  keep(from, body.length)
  return { outline: parts.join(''), texts }
}

/** Parses the characters of a text between its quotation marks. */
async function parseText(body: Buffer, start: number, end: number, parse: ParseJson): Promise<string> {
  let text = ''
  for (let from = start; from < end; ) {
    const to = end - from <= SLICE_BYTES ? end : boundaryBefore(body, from + SLICE_BYTES)
    text += parse(`"${body.toString('utf8', from, to)}"`) as string
    from = to
    if (to < end) await nextTurn()
  }
  return text
}

/** Returns the last place up to `at` that is neither within an escape sequence nor within a character. */
function boundaryBefore(body: Buffer, at: number): number {
  for (let place = at - 1; place >= at - 5; place--) {
    if (body[place] !== BACKSLASH || isEscaped(body, place)) continue
    const length = body[place + 1] === LOWER_U ? 6 : 2
    if (place + length > at) return place
    break
  }
  let boundary = at
  while (((body[boundary] as number) & 0xc0) === 0x80) boundary--
  return boundary
}

/** Whether an odd number of backslashes precedes a place. */
function isEscaped(body: Buffer, at: number): boolean {
  let backslashes = 0
  while (body[at - 1 - backslashes] === BACKSLASH) backslashes++
  return backslashes % 2 === 1
}

/** Whether the text that ends at a place is the name of a member. */
function isName(body: Buffer, end: number): boolean {
  let at = end + 1
  while (at < body.length && (body[at] as number) <= 0x20) at++
  return body[at] === COLON
}

const tooLong = () =>
  new InvalidRequest(
    'The request body has more than 256 KiB without its long texts, which is too much to read at once.',
  )

import type { Readable } from 'node:stream'
import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify'
import { InvalidRequest } from '../../errors.ts'

/** Parses the text of a JSON value as a whole. @throws InvalidRequest */
export type ParseJson = (text: string) => unknown

/**
 * Makes a scope parse its JSON bodies by a function for long ones (json-slices.ts, json-texts.ts).
 *
 * @param parseBody gets the bytes of a body, and the parser of all other routes for its parts
 */
export function parseJsonBy(
  app: FastifyInstance,
  parseBody: (body: Buffer, parse: ParseJson) => Promise<unknown>,
): void {
  const parseWhole = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: Readable) => {
    const body = await readBody(request, payload)
    if (body.length === 0) return undefined
    return parseBody(body, (text) => {
      let parsed: unknown
      // The callback is called at once.
      void parseWhole(request, text, (error, value) => {
        if (error) throw malformed()
        parsed = value
      })
      return parsed
    })
  })
}

/** The memory for a body of unknown length, at first. */
const FIRST_BYTES = 64 * 1024

/**
 * Reads a body into memory that is asked for at the beginning. Fastify would keep the pieces, and copy all of them in one
 * turn of the event loop at the end.
 *
 * @throws the errors of Fastify's own reader
 */
async function readBody(request: FastifyRequest, payload: Readable): Promise<Buffer> {
  const limit = request.routeOptions.bodyLimit ?? Number.POSITIVE_INFINITY
  const announced = Number(request.headers['content-length'])
  if (announced > limit) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE()
  let body: Buffer = Buffer.allocUnsafeSlow(Number.isNaN(announced) ? FIRST_BYTES : announced)
  let length = 0
  // The stream stays open, so that a refusal can still be sent.
  const pieces = payload.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  for (;;) {
    const { done, value: piece } = await pieces.next().catch(asFaultOfSender)
    if (done) break
    if (length + piece.length > limit) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE()
    if (length + piece.length > body.length) body = grown(body, length + piece.length)
    length += piece.copy(body, length)
  }
  if (!Number.isNaN(announced) && length !== announced) throw new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH()
  return body.subarray(0, length)
}

/** The connection broke, or another hook has ended the body with an error of its own. */
function asFaultOfSender(error: Error & { statusCode?: number }): never {
  throw error.statusCode === undefined ? Object.assign(error, { statusCode: 400 }) : error
}

function grown(body: Buffer, least: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.max(least, body.length * 2))
  body.copy(larger)
  return larger
}

/** The refusal of a body that is not JSON. */
export const malformed = (): Error => new InvalidRequest('The request body is not JSON.')

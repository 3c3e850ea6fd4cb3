import type { FastifyInstance, FastifyRequest } from 'fastify'
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
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
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

/** The refusal of a body that is not JSON. */
export const malformed = (): Error => new InvalidRequest('The request body is not JSON.')

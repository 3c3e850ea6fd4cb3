// What the schema of a route says for the OpenAPI document alone.
import type {} from 'fastify'

/** An answer that no schema checks, by its media types; none for an answer without a body. */
export interface Unchecked {
  what: string
  types?: readonly string[]
}

declare module 'fastify' {
  interface FastifySchema {
    /** What a route sends apart from its `response`, such as a file or a redirect, by status: for the document alone. */
    sends?: Readonly<Record<number, Unchecked>>
    /** The schema of a body that none checks, in the media type of `consumes`: for the document alone. */
    takes?: object
  }
}

/** The schema of bytes, for `takes`. */
export const BINARY = { type: 'string', format: 'binary' }

import type { paths } from './openapi.ts'

export type { paths } from './openapi.ts'

type Operation<Path extends keyof paths, Method> = Method extends keyof paths[Path] ? paths[Path][Method] : never

type JsonOf<Responses> = {
  [Status in keyof Responses]: Status extends 200 | 201 | 202
    ? Responses[Status] extends { content: { 'application/json': infer Body } }
      ? Body
      : never
    : never
}[keyof Responses]

/** The response of an operation. */
export type Answer<Path extends keyof paths, Method> =
  Operation<Path, Method> extends { responses: infer Responses } ? JsonOf<Responses> : never

/** The body of an operation. */
export type Body<Path extends keyof paths, Method> =
  Operation<Path, Method> extends { requestBody?: infer Request }
    ? NonNullable<Request> extends { content: { 'application/json': infer Fields } }
      ? Fields
      : never
    : never

/** The query of an operation. It excludes the cursor, which lists handle themselves. */
export type Query<Path extends keyof paths, Method> =
  Operation<Path, Method> extends { parameters: { query?: infer Fields } } ? Omit<NonNullable<Fields>, 'cursor'> : never

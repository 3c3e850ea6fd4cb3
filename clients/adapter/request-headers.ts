/** Any value that has request headers: a Request, Headers, or a request of Node, Express, Fastify or Next. */
export type WithHeaders = Headers | { headers: Headers | Record<string, string | string[] | undefined> }

/** Returns the headers of a request; of a request of Node only the cookies. */
export function headersOf(request: WithHeaders): Headers {
  if (request instanceof Headers) return request
  // Next's read-only headers are not an instance of Headers, but have the required methods.
  if ('get' in request && typeof request.get === 'function') return request as unknown as Headers
  const { headers } = request as Exclude<WithHeaders, Headers>
  if (typeof (headers as Headers).get === 'function') return headers as Headers
  const { cookie = '' } = headers as Record<string, string | string[] | undefined>
  return new Headers({ cookie: [cookie].flat().join('; ') })
}

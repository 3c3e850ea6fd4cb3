/**
 * A `fetch` for one provider: never to another origin, where a redirect or an address in an answer might lead (the
 * API key would travel along, or an address inside of this network be asked).
 */
export function fetchFrom(baseUrl: string): typeof fetch {
  const { origin } = new URL(baseUrl)
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input)
    if (url.origin !== origin) throw new Error('The provider referred to another server.')
    return fetch(url, { ...init, redirect: 'error' })
  }
}

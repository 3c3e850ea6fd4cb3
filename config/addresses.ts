import { isMapping } from './validate.ts'

/**
 * Writes the public addresses as browsers do: in lower case, in ASCII, without the usual port and without a slash at the
 * end. Whatever compares an origin or a host with them may then compare texts. What is no address stays as it is; the
 * validation reports it.
 */
export function normaliseAddresses(values: Record<string, unknown>): void {
  change(values, 'portal', 'url', originOf)
  change(values, 'portal', 'formerUrls', originOf)
  change(values, 'studio', 'url', originOf)
  change(values, 'games', 'domain', hostOf)
  change(values, 'games', 'formerDomains', hostOf)
}

/** Changes a text, or each text of a list, if the configuration sets the key. */
function change(
  values: Record<string, unknown>,
  section: string,
  key: string,
  normalise: (text: string) => string,
): void {
  const each = (value: unknown) => (typeof value === 'string' ? normalise(value) : value)
  const mapping = values[section]
  if (!isMapping(mapping) || !Object.hasOwn(mapping, key)) return
  const value = mapping[key]
  mapping[key] = Array.isArray(value) ? value.map(each) : each(value)
}

function originOf(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) return text
  const isOrigin = url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password
  return isOrigin ? url.origin : text
}

/** A browser names no port that is the usual one of its scheme, whichever that is. */
function hostOf(text: string): string {
  const url = /[/?#@\\\s]/.test(text) ? null : URL.parse(`http://${text}`)
  return url ? url.host.replace(/:443$/, '') : text
}

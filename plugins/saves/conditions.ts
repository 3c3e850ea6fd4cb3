import { InvalidRequest } from '../../core/errors.ts'

/** The preconditions of a change (RFC 9110 section 13.1). An absent one always holds. */
export interface Conditions {
  /** The version must be one of these; `*`: there must be a save. */
  ifMatch?: readonly number[] | '*'
  /** The version must be none of these; `*`: there must be no save. */
  ifNoneMatch?: readonly number[] | '*'
}

/**
 * The header of the version: in an answer the version itself, in a change the version that it replaces, `0` for none.
 * Proxies that compress rewrite entity tags, and proxies that cache remove preconditions. A header of our own passes.
 */
export const VERSION_HEADER = 'service-save-version'

/** `1` in a change that has lost or won a conflict: the replaced version, which it was not made from, is kept for longer. */
export const CONFLICT_HEADER = 'service-save-conflict'

/** Returns the entity tag of a version. */
export const etagOf = (version: number): string => `"${version}"`

/**
 * Parses the preconditions of a request, `Service-Save-Version` included. All of them must hold.
 *
 * @throws InvalidRequest when one is neither `*` nor a list of entity tags, or the version is no number
 */
export function readConditions(headers: Record<string, string | string[] | undefined>): Conditions {
  const expected = versionOf(headers[VERSION_HEADER])
  const ifMatch = both(parse('If-Match', headers['if-match']), expected ? [expected] : undefined)
  const ifNoneMatch = expected === 0 ? '*' : parse('If-None-Match', headers['if-none-match'])
  return { ...(ifMatch === undefined ? {} : { ifMatch }), ...(ifNoneMatch === undefined ? {} : { ifNoneMatch }) }
}

/** @param version the current version; null when there is no save */
export function holds({ ifMatch, ifNoneMatch }: Conditions, version: number | null): boolean {
  if (ifMatch !== undefined && (version === null || (ifMatch !== '*' && !ifMatch.includes(version)))) return false
  return ifNoneMatch === undefined || version === null || (ifNoneMatch !== '*' && !ifNoneMatch.includes(version))
}

/** Whether a version is one that the client has already, so that a read is answered with 304. */
export const isKnown = (headers: Record<string, string | string[] | undefined>, version: number): boolean => {
  const known = parse('If-None-Match', headers['if-none-match'])
  return known !== undefined && (known === '*' || known.includes(version))
}

function versionOf(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined
  if (!/^(0|[1-9][0-9]{0,9})$/.test(String(header))) {
    throw new InvalidRequest('Service-Save-Version is the version that the change replaces, or 0 for none.')
  }
  return Number(header)
}

/** Returns the versions that satisfy two conditions. */
function both(one: Conditions['ifMatch'], other: readonly number[] | undefined): Conditions['ifMatch'] {
  if (one === undefined || one === '*' || other === undefined) return other ?? one
  return one.filter((version) => other.includes(version))
}

/**
 * Parses a list of entity tags. A proxy that compresses makes a tag weak (nginx, Cloudflare: `W/"3"`) or adds the coding
 * (Apache, Caddy: `"3-gzip"`), and sends it back so. It still names the version, because a version never changes. A tag
 * that no version has stays in the list as -1: it matches nothing.
 */
function parse(name: string, header: string | string[] | undefined): Conditions['ifMatch'] {
  if (header === undefined) return undefined
  const text = [header].flat().join(',').trim()
  if (text === '*') return '*'
  return text.split(',').map((part) => {
    const tag = part.trim()
    if (!/^(W\/)?"[\x21\x23-\x7e]*"$/.test(tag)) {
      throw new InvalidRequest(`${name} is * or the version in quotes, such as "3".`)
    }
    const [, version] = /^(?:W\/)?"([1-9][0-9]{0,9})(?:[-;.:]+[A-Za-z]+)*"$/.exec(tag) ?? []
    return version === undefined ? -1 : Number(version)
  })
}

import { InvalidRequest } from '../../core/errors.ts'

/** The preconditions of a change (RFC 9110 section 13.1). An absent one always holds. */
export interface Conditions {
  /** The version must be one of these; `*`: there must be a save. */
  ifMatch?: readonly number[] | '*'
  /** The version must be none of these; `*`: there must be no save. */
  ifNoneMatch?: readonly number[] | '*'
}

/** Returns the entity tag of a version. */
export const etagOf = (version: number): string => `"${version}"`

/** Parses `If-Match` and `If-None-Match`. @throws InvalidRequest when one is neither `*` nor a list of entity tags */
export function readConditions(headers: Record<string, string | string[] | undefined>): Conditions {
  const ifMatch = parse('If-Match', headers['if-match'])
  const ifNoneMatch = parse('If-None-Match', headers['if-none-match'])
  return { ...(ifMatch === undefined ? {} : { ifMatch }), ...(ifNoneMatch === undefined ? {} : { ifNoneMatch }) }
}

/** @param version the current version; null when there is no save */
export function holds({ ifMatch, ifNoneMatch }: Conditions, version: number | null): boolean {
  if (ifMatch !== undefined && (version === null || (ifMatch !== '*' && !ifMatch.includes(version)))) return false
  return ifNoneMatch === undefined || version === null || (ifNoneMatch !== '*' && !ifNoneMatch.includes(version))
}

/** A tag that no version has, such as a weak one, stays in the list as -1: it matches nothing. */
function parse(name: string, header: string | string[] | undefined): Conditions['ifMatch'] {
  if (header === undefined) return undefined
  const text = [header].flat().join(',').trim()
  if (text === '*') return '*'
  return text.split(',').map((part) => {
    const tag = part.trim()
    if (!/^(W\/)?"[\x21\x23-\x7e]*"$/.test(tag)) {
      throw new InvalidRequest(`${name} is * or the version in quotes, such as "3".`)
    }
    return /^"[1-9][0-9]{0,9}"$/.test(tag) ? Number(tag.slice(1, -1)) : -1
  })
}

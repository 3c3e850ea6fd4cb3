import { invalidField } from '../../../core/errors.ts'
import { LANGUAGE_LENGTH } from './schemas.ts'

/** A BCP 47 tag of language, script, region and variants; extensions and private use say nothing about a game. */
const TAG = /^[a-z]{2,3}(-[a-z]{4})?(-([a-z]{2}|\d{3}))?(-([a-z\d]{5,8}|\d[a-z\d]{3}))*$/i

const names = new Intl.DisplayNames('en', { type: 'language' })

/** Returns a tag in its canonical form (BCP 47, RFC 5646, section 4.5): `en-US` for `EN-us`. @throws InvalidRequest */
export function canonicalLanguage(tag: string, field: string): string {
  const canonical = TAG.test(tag) ? canonicalOf(tag) : null
  if (canonical !== null && canonical.length <= LANGUAGE_LENGTH) return canonical
  const shown = tag.length > 30 ? `${tag.slice(0, 29)}…` : tag
  throw invalidField(field, `“${shown}” is not a language tag. Write it as en, de or pt-BR (BCP 47).`)
}

/** Returns the canonical form, or null for a tag that is not valid, such as one with the same variant twice. */
function canonicalOf(tag: string): string | null {
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? null
  } catch {
    return null
  }
}

/** Returns a language and the more general ones that include it: `zh-Hant-TW`, `zh-Hant`, `zh`. */
export function withGeneral(tag: string): string[] {
  const parts = tag.split('-')
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('-'))
}

/** Returns the English name of a language: `Brazilian Portuguese`. */
export const languageName = (tag: string): string => names.of(tag) ?? tag

/**
 * Returns the `lang` attribute of a text of a game, such as its title: its first language; undefined when it has the
 * language of the pages, or states none.
 */
export function languageOf({ features }: { features: { languages: readonly string[] } }): string | undefined {
  const [first] = features.languages
  return first === undefined || withGeneral(first).includes(PAGES) ? undefined : first
}

/** The language of the portal's pages. */
const PAGES = 'en'

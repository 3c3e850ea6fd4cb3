import type { Config } from '../config.ts'

/** The legal information of the operator (`portal.legal`), for the footer and the sign-up. */
export interface Legal {
  operator: string | null
  /** `href` is null for a text that is neither an email nor a web address. */
  contact: { text: string; href: string | null } | null
  /** Addresses: elsewhere, or of the page here that shows the configured file. */
  terms: string | null
  privacy: string | null
}

/** Whether a value of `portal.legal` is an address rather than a Markdown file. */
export const isAddress = (value: string): boolean => /^https?:\/\//.test(value)

/** Derives the links of a page from the configuration. */
export function legalOf({ operator, contact, terms, privacy }: Config['portal']['legal']): Legal {
  const page = (name: string, value: string | undefined) =>
    value === undefined ? null : isAddress(value) ? value : `/legal/${name}`
  return {
    operator: operator ?? null,
    contact: contact === undefined ? null : { text: contact.replace(/^https?:\/\//, ''), href: hrefOf(contact) },
    terms: page('terms', terms),
    privacy: page('privacy', privacy),
  }
}

function hrefOf(contact: string): string | null {
  if (isAddress(contact)) return contact
  return /^[^\s@]+@[^\s@]+$/.test(contact) ? `mailto:${contact}` : null
}

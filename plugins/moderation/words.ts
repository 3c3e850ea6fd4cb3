import type { Category } from './schemas.ts'

/** How forms and lists name the categories. */
export const CATEGORY_NAMES: Record<Category, string> = {
  harm: 'Violence, threats, danger to children',
  malware: 'Harmful software, stolen passwords',
  sexual: 'Sexual content',
  hate: 'Hate or harassment',
  copyright: 'Uses somebody’s work without permission',
  spam: 'Spam or a scam',
  other: 'Something else',
}

/** The short names of the categories, for chips. */
export const CATEGORY_WORDS: Record<Category, string> = {
  harm: 'harm',
  malware: 'malware',
  sexual: 'sexual',
  hate: 'hate',
  copyright: 'copyright',
  spam: 'spam',
  other: 'other',
}

/** Prepared words for the owner, one text for each category. */
export const TEMPLATES: Record<Category, string> = {
  harm: 'It shows or calls for violence, or endangers children. That has no place here.',
  malware: 'It harms the computers of players, or asks for passwords of other services.',
  sexual: 'It shows sexual content, which this platform does not allow.',
  hate: 'It attacks people for who they are, or harasses somebody.',
  copyright: 'It uses work of somebody else without their permission. Remove it, or show us the permission.',
  spam: 'It advertises or misleads people, and is no game or material for games.',
  other: 'It breaks the rules of this platform. Answer this message if you do not know which part is meant.',
}

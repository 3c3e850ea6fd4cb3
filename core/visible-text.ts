/** Characters that show nothing, apart from the joiners that scripts and emoji need between letters. */
const INVISIBLE = String.raw`[[\p{Default_Ignorable_Code_Point}\u{1D159}]--[\u200C\u200D]]`
/** Emoji of several characters, some of which are invisible on their own: a flag of tags, a picture, a keycap. */
const EMOJI = String.raw`\u{1F3F4}[\u{E0020}-\u{E007E}]+\u{E007F}|\p{Extended_Pictographic}\uFE0F|[0-9#*]\uFE0F\u20E3`
const EMOJI_OR_INVISIBLE = new RegExp(`(${EMOJI})|${INVISIBLE}`, 'gv')
/** Blanks, the empty Braille pattern included, and control characters, which terminals obey. */
const BLANKS = /[\s\p{Cc}\u2800]+/gu
/** Joiners with nothing on one of their sides to join, and the further ones of several. */
const IDLE_JOINERS = /(?<=^|[\s\u2800\u200C\u200D])[\u200C\u200D]+|[\u200C\u200D]+(?=[\s\u2800]|$)/gu
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** What a name, title or label must have so that people see it; the pattern of a JSON schema. */
export const VISIBLE_PATTERN = String.raw`(?!\p{Default_Ignorable_Code_Point}|[\u2800\u{1D159}])[\p{L}\p{N}\p{P}\p{S}]`

/**
 * Returns a name, title or label as people see it: in one line, composed (NFC), and without characters that show
 * nothing. "Ada" with a zero-width space behind it would otherwise be another name that looks the same. Joiners between
 * letters stay, since Persian, the scripts of India and emoji need them.
 *
 * @returns an empty text when nothing of it is visible
 */
export function visibleText(text: string): string {
  const shown = text
    .normalize('NFC')
    .replace(EMOJI_OR_INVISIBLE, (_character, emoji = '') => emoji)
    .replace(IDLE_JOINERS, '')
    .replace(BLANKS, ' ')
    .trim()
  return VISIBLE.test(shown) ? shown : ''
}

/** Returns the number of characters that people see; an emoji or a letter with its accents is one. */
export const visibleLength = (text: string): number => [...graphemes.segment(text)].length

/** Tags that the platform inserts into HTML documents. */
export interface Tags {
  /** Inserted before every script of the document: in its head, or else at its beginning. */
  first?: string | undefined
  /** Inserted before `</head>`, else before `</body>` or, in a document without both, at its end. */
  last?: string | undefined
}

/** The tag of the sign-in widget. */
export const WIDGET_TAG = '<script type="module" src="/__service/auth-widget.js"></script>'

/**
 * Inserts tags into an HTML document. A file that is no document (a template, a fragment) stays as it is, unless a player
 * opens it as a page: browsers need no doctype, `html` or `body`.
 *
 * It skips comments and scripts, and works on bytes in one pass, because it runs on any uploaded file.
 */
export function injectTags(html: Buffer, { first, last }: Tags, { isPage = false } = {}): Buffer {
  if (isUtf16(html)) return html
  const found = placesIn(html)
  if (found.last === null && !isPage) return html
  // Where an unterminated script contains the end, everything goes to the start.
  const places = { first: found.first, last: found.last ?? (found.isOpen ? found.first : html.length) }
  const parts = [html.subarray(0, places.first), html.subarray(places.first, places.last), html.subarray(places.last)]
  return Buffer.concat([
    parts[0] as Buffer,
    Buffer.from(first ?? ''),
    parts[1] as Buffer,
    Buffer.from(last ?? ''),
    parts[2] as Buffer,
  ])
}

/** Inserts tags at the start of the head of a document, of which only the beginning is given. */
export function injectAtStart(html: Buffer, { first = '', last = '' }: Tags): Buffer {
  if (isUtf16(html)) return html
  const at = placesIn(html).first
  return Buffer.concat([html.subarray(0, at), Buffer.from(first + last), html.subarray(at)])
}

/** Whether a document begins with the mark of UTF-16, which is not changed. */
const isUtf16 = (html: Buffer): boolean =>
  (html[0] === 0xff && html[1] === 0xfe) || (html[0] === 0xfe && html[1] === 0xff)

const UTF8_MARK = '\xef\xbb\xbf'

/** Elements whose content is text, so that tags in it do not count. */
const RAW = ['script', 'style', 'title', 'textarea', 'template', 'noscript', 'xmp', 'iframe']

interface Places {
  first: number
  /** null: the file is no document, or an unterminated element contains its end (`isOpen`). */
  last: number | null
  isOpen: boolean
}

function placesIn(html: Buffer): Places {
  // Latin-1 maps one byte to one character in any ASCII-compatible encoding.
  const text = html.toString('latin1').toLowerCase()
  // The start of the head's own content.
  let first = text.startsWith(UTF8_MARK) ? UTF8_MARK.length : 0
  let begun = false
  let body: number | null = null
  let isDocument = false
  const found = (last: number): Places => ({ first: Math.min(first, last), last, isOpen: false })
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at)) {
    if (text.startsWith('<!--', at)) {
      at = endOf(text, '-->', at + 4)
    } else if (startsTag(text, '</head', at)) {
      return found(at)
    } else if (startsTag(text, '</body', at)) {
      body = at
      at += 1
    } else {
      const preamble = PREAMBLE.find((tag) => startsTag(text, tag, at))
      isDocument ||= preamble === '<!doctype' || preamble === '<html'
      if (!begun && preamble) first = endOfTag(text, at) ?? first
      // Any other element begins the content, whether the head has a tag or not.
      begun ||= !preamble
      const raw = RAW.find((name) => startsTag(text, `<${name}`, at))
      at = raw ? endOf(text, `</${raw}`, at + 1) : at + 1
    }
    // An unterminated comment or script contains the rest of the document.
    if (at === -1) return body === null ? { first, last: null, isOpen: true } : found(body)
  }
  if (body !== null) return found(body)
  return isDocument ? found(html.length) : { first, last: null, isOpen: false }
}

/** The tags before the content of the head. */
const PREAMBLE = ['<!doctype', '<html', '<head']

function endOf(text: string, end: string, from: number): number {
  const at = text.indexOf(end, from)
  return at === -1 ? -1 : at + end.length
}

const startsTag = (text: string, tag: string, at: number) =>
  text.startsWith(tag, at) && /[\s>/]/.test(text[at + tag.length] ?? '')

/** Returns the position after a tag; null for an unterminated one. A `>` in quotes is part of a value. */
function endOfTag(text: string, at: number): number | null {
  const tag = /<(?:[^"'>]|"[^"]*"|'[^']*')*>/y
  tag.lastIndex = at
  return tag.test(text) ? tag.lastIndex : null
}

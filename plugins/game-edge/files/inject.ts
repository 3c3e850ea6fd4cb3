const TAG = Buffer.from('<script type="module" src="/__service/auth-widget.js"></script>')

/**
 * Puts the sign-in widget's script tag into an HTML document: before `</head>`, else before `</body>`, else, where a
 * document leaves both out, at its end. Anything that is no document (a template, a fragment) stays as it is.
 *
 * What stands in comments and scripts is passed over. Works on bytes, in one pass: it runs on whatever players upload.
 */
export function injectWidget(html: Buffer): Buffer {
  const at = placeFor(html)
  return at === null ? html : Buffer.concat([html.subarray(0, at), TAG, html.subarray(at)])
}

/** Elements whose content is text: tags in it are none. */
const RAW = ['script', 'style', 'title', 'textarea', 'template', 'noscript', 'xmp', 'iframe']

function placeFor(html: Buffer): number | null {
  // Latin-1 keeps one character a byte, whatever the (ASCII-compatible) encoding; UTF-16 is left alone.
  if ((html[0] === 0xff && html[1] === 0xfe) || (html[0] === 0xfe && html[1] === 0xff)) return null
  const text = html.toString('latin1').toLowerCase()
  let body: number | null = null
  let isDocument = false
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at)) {
    if (text.startsWith('<!--', at)) {
      at = endOf(text, '-->', at + 4)
    } else if (startsTag(text, '</head', at)) {
      return at
    } else if (startsTag(text, '</body', at)) {
      body = at
      at += 1
    } else {
      isDocument ||= startsTag(text, '<!doctype', at) || startsTag(text, '<html', at)
      const raw = RAW.find((name) => startsTag(text, `<${name}`, at))
      at = raw ? endOf(text, `</${raw}`, at + 1) : at + 1
    }
    // A comment or script without end has swallowed the rest.
    if (at === -1) return body
  }
  return body ?? (isDocument ? html.length : null)
}

function endOf(text: string, end: string, from: number): number {
  const at = text.indexOf(end, from)
  return at === -1 ? -1 : at + end.length
}

const startsTag = (text: string, tag: string, at: number) =>
  text.startsWith(tag, at) && /[\s>/]/.test(text[at + tag.length] ?? '')

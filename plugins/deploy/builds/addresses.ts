/** What a page or a style sheet says about the files that it loads. */
export interface Loaded {
  /** In lower case; `style` for style sheets and the attribute `style`. */
  element: string
  /** Addresses of which one is enough: the sources of a font, or a single one. Empty for what loads nothing. */
  addresses: string[]
  /** Whether it is a script that the browser itself runs: a classic one or a module. */
  isRun?: boolean
}

/** A tag. A `<` in a quoted value ends the search, so that the whole text is read only once. */
const TAG = /<([a-z][a-z0-9-]{0,30})(?=[\s/>])((?:[^<>"']|"[^"<]*"|'[^'<]*'){0,3000})>/gi
const ATTRIBUTE = /(?<=[\s/"'])([\w:-]{1,60})\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g
/** The types of scripts that browsers run. */
const RUN = /^(?:module|(?:text|application)\/(?:x-)?(?:java|ecma)script)?$/i
/** Elements whose content is text, or no part of the page where scripts run. */
const RAW = new Set(['script', 'style', 'template', 'noscript', 'textarea', 'title', 'xmp', 'iframe'])
/** The attributes with the addresses that an element loads. */
const LOADING: Readonly<Record<string, readonly string[]>> = {
  script: ['src'],
  link: ['href'],
  img: ['src', 'srcset'],
  source: ['src', 'srcset'],
  audio: ['src'],
  video: ['src', 'poster'],
  track: ['src'],
  embed: ['src'],
  object: ['data'],
  iframe: ['src'],
  frame: ['src'],
  image: ['href', 'xlink:href'],
  use: ['href', 'xlink:href'],
}
/** The relations of links that a browser loads. */
const LOADED_LINK =
  /^(?:stylesheet|icon|apple-touch-icon(?:-precomposed)?|apple-touch-startup-image|mask-icon|manifest|preload|modulepreload)$/i

/**
 * Yields what each element of a page loads, in order. What its scripts and templates contain is made at run time, so it is
 * no part.
 */
export function* loadedByPage(html: string): Generator<Loaded> {
  TAG.lastIndex = 0
  for (let tag = TAG.exec(html); tag; tag = TAG.exec(html)) {
    let at = TAG.lastIndex
    const element = (tag[1] as string).toLowerCase()
    const attributes = attributesOf(tag[2] as string)
    if (element !== 'link' || isLoadedLink(attributes.get('rel'))) {
      for (const name of LOADING[element] ?? []) {
        const value = attributes.get(name)
        const addresses = value === undefined ? [] : name === 'srcset' ? sourcesOf(value) : [value.trim()]
        const isRun = element === 'script' && RUN.test(attributes.get('type')?.trim() ?? '')
        for (const address of addresses) yield { element, addresses: [address], isRun }
      }
    }
    yield { element, addresses: [] }
    yield* loadedByStyles(attributes.get('style') ?? '')
    if (RAW.has(element)) {
      const end = new RegExp(`</${element}`, 'gi')
      end.lastIndex = at
      const found = end.exec(html)
      if (!found) return
      if (element === 'style') yield* loadedByStyles(html.slice(at, found.index))
      at = end.lastIndex
    }
    // Another page may have been read meanwhile.
    TAG.lastIndex = at
  }
}

/** Returns the address of the tag `<base>`, or an empty text. */
export function baseOf(html: string): string {
  return /<base\b[^<>]{0,300}?\shref\s{0,9}=\s{0,9}["']?([^"'\s>]{1,500})/i.exec(html)?.[1] ?? ''
}

function attributesOf(text: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const [, name = '', double, single, bare] of text.matchAll(ATTRIBUTE)) {
    const key = name.toLowerCase()
    const value = (double ?? single ?? bare ?? '').replaceAll('&quot;', '"').replaceAll('&amp;', '&')
    if (!found.has(key)) found.set(key, value)
  }
  return found
}

const isLoadedLink = (rel = ''): boolean => rel.split(/\s+/).some((one) => LOADED_LINK.test(one))

/** Returns the addresses of `srcset`. Commas may be part of an address, so they separate only with a space. */
function sourcesOf(srcset: string): string[] {
  return srcset
    .split(/,\s/)
    .map((source) => source.trim().split(/\s/)[0] ?? '')
    .filter((address) => !address.includes(','))
}

const STYLE_TOKEN =
  /\burl\(\s{0,20}(?:"([^"\n]*)"|'([^'\n]*)'|([^"'()\s]*))\s{0,20}\)|@import\s{1,20}(?:"([^"\n]*)"|'([^'\n]*)')|"[^"\n]*"|'[^'\n]*'|[;{}]/gi

/** Yields what each declaration of a style sheet loads. */
export function* loadedByStyles(css: string): Generator<Loaded> {
  let addresses: string[] = []
  for (const [token, double, single, bare, imported, other] of withoutComments(css, '/*', '*/').matchAll(STYLE_TOKEN)) {
    const address = double ?? single ?? bare ?? imported ?? other
    if (address !== undefined) addresses.push(address.trim())
    else if (/^[;{}]$/.test(token)) {
      yield { element: 'style', addresses }
      addresses = []
    }
  }
  yield { element: 'style', addresses }
}

/** Returns a text without its comments, in which makers keep what they don't use. */
export function withoutComments(text: string, begins = '<!--', ends = '-->'): string {
  const parts: string[] = []
  for (let at = 0; ; ) {
    const begin = text.indexOf(begins, at)
    const end = begin === -1 ? -1 : text.indexOf(ends, begin + 2)
    if (end === -1) return parts.join('') + text.slice(at)
    parts.push(text.slice(at, begin))
    at = end + ends.length
  }
}

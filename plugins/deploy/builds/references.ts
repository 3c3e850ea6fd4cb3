import { printablePath } from '../../../core/data/file-path.ts'
import { FileIndex, type Match } from './file-index.ts'
import type { Note } from './notes.ts'

/** The maximum number of notes of one kind. */
const MOST = 8
/** Addresses of the machine or the service on which a build was tried, where players have nothing. */
const MAKERS_HOST =
  /^(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1\]|(?:[\w-]+\.)*itch\.zone|preview\.construct\.net|launch\.playcanvas\.com)$/i

/** Stands for the address of the game, which a build does not know. */
const SITE = 'http://game.invalid/'
/** Elements whose files a page needs, with the address: `<script src="main.js">`. */
const ELEMENT =
  /<(script|link|img|audio|video|source|embed|object|iframe)\b[^<>]{0,1000}?\s(?:src|href|data)\s*=\s*(?:"([^"]{1,500})"|'([^']{1,500})'|([^\s>"']{1,500}))/gi
/** Links of a page that are no files of the game. */
const UNLOADED =
  /\brel\s*=\s*["']?(?:canonical|alternate|preconnect|dns-prefetch|author|license|help|search|next|prev)\b/i
/** A text in a script that can be the name of a file. */
const LITERAL = /["'`]([^"'`\\\s<>{}|*?:;,()]{1,150}\.[a-z0-9]{2,5})["'`]/gi

/**
 * Collects what will break about the addresses in a build: files that are missing, differ in case or are asked for in
 * folders that the build lacks, and hosts that only its maker has.
 */
export class References {
  readonly #files: FileIndex
  /** The address against which those of the page are resolved. */
  readonly #folder: string
  readonly #notes = new Map<string, Note>()
  readonly #hosts = new Set<string>()

  /** @param page the text of `index.html` */
  constructor(paths: readonly string[], page: string) {
    this.#files = new FileIndex(paths)
    const base = /<base\b[^<>]{0,300}?\shref\s*=\s*["']?([^"'\s>]{1,500})/i.exec(page)?.[1] ?? ''
    this.#folder = URL.canParse(base, SITE) ? new URL(base, SITE).href : SITE
  }

  get notes(): Note[] {
    return [...this.#notes.values()]
  }

  /** The other hosts from which the page loads files. */
  get hosts(): string[] {
    return [...this.#hosts]
  }

  /** Reads the elements of a part of `index.html`. */
  addPage(html: string): void {
    for (const { index, 1: element = '', 2: quoted, 3: single, 4: bare } of html.matchAll(ELEMENT)) {
      if (element.toLowerCase() === 'link' && UNLOADED.test(html.slice(index, html.indexOf('>', index)))) continue
      this.#addAddress((quoted ?? single ?? bare ?? '').trim(), element.toLowerCase())
    }
  }

  /** Reads a part of a script, or of a style sheet. */
  addScript(path: string, text: string): void {
    for (const [, literal = ''] of text.matchAll(LITERAL)) {
      if (literal.startsWith('//')) continue
      const match = literal.startsWith('/')
        ? this.#files.at(literal.slice(1))
        : this.#files.endingWith(literal.replace(/^(?:\.{1,2}\/)+/, ''))
      // A script also has texts that are no addresses, so one without any similar file says nothing.
      if (match.kind !== 'missing') this.#judge(path, literal, match)
    }
  }

  #addAddress(address: string, element: string): void {
    if (address === '' || /^(?:#|data:|blob:|about:|mailto:|javascript:)|[{}<>$]|%[A-Z_]+%/i.test(address)) return
    if (!URL.canParse(address, this.#folder)) return
    const url = new URL(address, this.#folder)
    if (url.protocol === 'file:' || MAKERS_HOST.test(url.hostname)) {
      const message = `index.html loads ${printablePath(address)}, which only the maker of the build can reach.`
      this.#add('makers_host', 'index.html', message)
    } else if (url.origin !== new URL(SITE).origin) {
      if (url.protocol.startsWith('http')) this.#hosts.add(url.host)
    } else {
      const match = this.#files.at(decoded(url.pathname).slice(1))
      // A page works without a picture or an icon. Without a script or a style sheet it rarely does.
      if (match.kind === 'missing' && element !== 'script') return
      this.#judge('index.html', address, match)
    }
  }

  #judge(from: string, address: string, match: Match): void {
    const asks = `${printablePath(from)} asks for ${printablePath(address)}`
    if (match.kind === 'case')
      this.#add(
        'case_differs',
        from,
        `${asks}, but the file is ${match.path}. Upper and lower case differ, which Windows and macOS overlook.`,
      )
    else if (match.kind === 'prefix')
      this.#add(
        'absolute_path',
        from,
        `${asks}, but the file is ${match.path}. Build for the root of a site, or with relative addresses (Vite: base './').`,
      )
    else if (match.kind === 'missing') this.#add('missing_file', from, `${asks}, which is not in the build.`)
  }

  #add(code: string, path: string, message: string): void {
    if (this.#notes.has(message)) return
    const same = this.notes.filter((note) => note.code === code).length
    if (same < MOST) this.#notes.set(message, { level: 'warning', code, path, message })
  }
}

/** Returns the page without its comments, in which makers keep what they don't use. */
export function withoutComments(html: string): string {
  const parts: string[] = []
  for (let at = 0; ; ) {
    const begin = html.indexOf('<!--', at)
    const end = begin === -1 ? -1 : html.indexOf('-->', begin)
    if (end === -1) return parts.join('') + html.slice(at)
    parts.push(html.slice(at, begin))
    at = end + 3
  }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path).normalize('NFC')
  } catch {
    return path
  }
}

import { printablePath } from '../../../core/data/file-path.ts'
import { baseOf, type Loaded } from './addresses.ts'
import { FileIndex, type Match } from './file-index.ts'
import type { Note } from './notes.ts'

/** The maximum number of notes. */
const MOST = 10
/** Addresses of the machine or the service on which a build was tried, where players have nothing. */
const MAKERS_HOST =
  /^(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1\]|(?:[\w-]+\.)*itch\.zone|preview\.construct\.net|launch\.playcanvas\.com)$/i

/** Stands for the address of the game, which a build does not know. */
const SITE = 'http://game.invalid/'
/** Addresses of the page itself, placeholders, and fragments. */
const MADE_AT_RUN_TIME = /^(?:#|data:|blob:|about:|mailto:|javascript:)|[{}<>$]|%[A-Z_]+%/i
/** Sources from which a build tool makes what browsers run and read. */
const SOURCES = { run: /\.(?:tsx?|mts|cts|jsx|vue|svelte)$/i, linked: /\.(?:scss|sass|less|styl)$/i }
/** A text in a script that can be the name of a file. */
const LITERAL = /["'`]([^"'`\\\s<>{}|*?:;,()]{1,150}\.[a-z0-9]{2,5})["'`]/gi

/**
 * Collects what will break about the addresses in a build: files that are missing, differ in case or are asked for in
 * folders that the build lacks, and hosts that only its maker has.
 */
export class References {
  readonly #files: FileIndex
  readonly #notes = new Map<string, Note>()
  readonly #hosts = new Set<string>()

  constructor(paths: readonly string[]) {
    this.#files = new FileIndex(paths)
  }

  get notes(): Note[] {
    return [...this.#notes.values()]
  }

  /** The other hosts from which `index.html` loads files. */
  get hosts(): string[] {
    return [...this.#hosts]
  }

  /**
   * Judges what a page or a style sheet loads.
   *
   * @param path of the file
   * @param base the address against which its addresses are resolved, by `baseOfPage` or `siteAddress`
   */
  add(path: string, base: string, { element, addresses, isRun = false }: Loaded): void {
    // Of several sources the browser takes one that it knows, and makers leave the others out.
    const judged = addresses.map((address) => this.#matchOf(path, base, address, element))
    const isThere = judged.some((one) => one?.match.kind === 'found')
    const sources = isRun ? SOURCES.run : element === 'link' ? SOURCES.linked : null
    for (const one of judged) {
      if (!one || one.match.kind === 'missing' || !sources?.test(one.resolved)) continue
      const what = `${printablePath(path)} loads ${printablePath(one.address)}, a source that browsers do not understand.`
      const how =
        'Build the project first, often with npm run build, and publish the folder that this makes, such as dist.'
      this.#add('not_built', path, `${what} ${how}`)
    }
    for (const one of judged)
      if (one && !(isThere && one.match.kind === 'missing')) this.#judge(path, one.address, one.match, one.resolved)
  }

  /** Reads a part of a script. */
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

  /** Returns how an address of this site relates to the files; null for any other. */
  #matchOf(path: string, base: string, address: string, element: string) {
    if (address === '' || MADE_AT_RUN_TIME.test(address) || !URL.canParse(address, base)) return null
    const url = new URL(address, base)
    if (url.protocol === 'file:' || MAKERS_HOST.test(url.hostname)) {
      const message = `${printablePath(path)} loads ${printablePath(address)}, which only the maker of the build can reach.`
      this.#add('makers_host', path, message)
      return null
    }
    if (url.origin !== new URL(SITE).origin) {
      if (path === 'index.html' && element !== 'style' && url.protocol.startsWith('http')) this.#hosts.add(url.host)
      return null
    }
    const resolved = decoded(url.pathname).slice(1)
    const match = this.#files.at(resolved)
    if (match.kind === 'missing') {
      // The platform answers it, and a page in a frame without an extension is the start page.
      if (resolved === 'favicon.ico' || (/^i?frame$/.test(element) && !/\.[^./]+$/.test(resolved))) return null
      const below = address.startsWith('/') ? decoded(new URL(`.${address}`, base).pathname).slice(1) : resolved
      if (below !== resolved && this.#files.at(below).kind === 'found')
        return { address, resolved, match: { kind: 'below base', path: below } as const }
    }
    return { address, resolved, match }
  }

  /** @param resolved the path on the site that an address of a page or style sheet has */
  #judge(from: string, address: string, match: Judged, resolved?: string): void {
    const asks = `${printablePath(from)} asks for ${printablePath(address)}`
    const isRelative = resolved !== undefined && !address.startsWith('/')
    if (match.kind === 'case')
      this.#add(
        'case_differs',
        from,
        `${asks}, but the file is ${match.path}. Upper and lower case differ, which Windows and macOS overlook.`,
      )
    else if (match.kind === 'below base')
      this.#add(
        'absolute_path',
        from,
        `${asks}, but the file is ${match.path}. <base> changes no address that begins with /, so leave the / out.`,
      )
    else if (match.kind === 'prefix' && !isRelative)
      this.#add(
        'absolute_path',
        from,
        `${asks}, but the file is ${match.path}. Build for the root of a site, or with relative addresses (Vite: base './').`,
      )
    else if (match.kind !== 'found') {
      const place = isRelative && resolved !== address.replace(/^\.\//, '') ? ` (${printablePath(resolved)})` : ''
      const other = match.kind === 'prefix' ? `, but ${match.path} is` : ''
      this.#add('missing_file', from, `${asks}${place}, which is not in the build${other}.`)
    }
  }

  #add(code: string, path: string, message: string): void {
    if (this.#notes.has(message)) return
    if (this.#notes.size < MOST) this.#notes.set(message, { level: 'warning', code, path, message })
  }
}

type Judged = Match | { kind: 'below base'; path: string }

/** Returns the address of a file on the site. */
export const siteAddress = (path: string): string =>
  new URL(path.split('/').map(encodeURIComponent).join('/'), SITE).href

/** Returns the address against which those of a page are resolved. */
export function baseOfPage(path: string, html: string): string {
  const base = baseOf(html)
  return URL.canParse(base, siteAddress(path)) ? new URL(base, siteAddress(path)).href : siteAddress(path)
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path).normalize('NFC')
  } catch {
    return path
  }
}

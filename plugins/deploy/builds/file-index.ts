/** How an address in a build relates to its files. */
export type Match =
  /** The file is there, or the address can't be judged. */
  | { kind: 'found' }
  /** A file differs in upper and lower case only. */
  | { kind: 'case'; path: string }
  /** The address begins with folders that the build lacks. */
  | { kind: 'prefix'; path: string }
  | { kind: 'missing' }

/** The maximum number of files of one name among which a text is looked for. */
const MOST_OF_A_NAME = 50

/** The paths of a build, for questions about addresses in its texts. */
export class FileIndex {
  readonly #paths: ReadonlySet<string>
  readonly #byLowerCase: ReadonlyMap<string, string>
  /** The paths by their last segment in lower case, one more than are looked at. */
  readonly #byName = new Map<string, Named[]>()

  constructor(paths: readonly string[]) {
    this.#paths = new Set(paths)
    this.#byLowerCase = new Map(paths.map((path) => [path.toLowerCase(), path]))
    for (const path of paths) {
      const lower = path.toLowerCase()
      const name = nameOf(lower)
      const same = this.#byName.get(name)
      if (!same) this.#byName.set(name, [{ path, lower }])
      else if (same.length <= MOST_OF_A_NAME) same.push({ path, lower })
    }
  }

  /** Finds the file at an address of the site. @param path without the leading slash */
  at(path: string): Match {
    if (this.#isServed(path)) return { kind: 'found' }
    const other = this.#byLowerCase.get(path.toLowerCase())
    if (other !== undefined) return { kind: 'case', path: other }
    for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
      const rest = path.slice(slash + 1)
      if (this.#paths.has(rest)) return { kind: 'prefix', path: rest }
    }
    return { kind: 'missing' }
  }

  /**
   * Finds the file that a script may mean by a text. Scripts join addresses, so any file that ends with the text counts;
   * a text that is the end of no file is not judged. Neither is a name that many files have: a hostile script would ask
   * for it without end, and each question would look at all of them.
   */
  endingWith(text: string): Match {
    const lower = text.toLowerCase()
    const same = this.#byName.get(nameOf(lower)) ?? []
    if (same.length > MOST_OF_A_NAME) return { kind: 'found' }
    const end = `/${lower}`
    const similar = same.filter((file) => file.lower === lower || file.lower.endsWith(end))
    const [first] = similar
    if (first === undefined || similar.some(({ path }) => path === text || path.endsWith(`/${text}`))) {
      return { kind: 'found' }
    }
    return { kind: 'case', path: first.path }
  }

  #isServed(path: string): boolean {
    if (this.#paths.has(path) || PLATFORM.test(path)) return true
    return this.#paths.has(path === '' || path.endsWith('/') ? `${path}index.html` : `${path}/index.html`)
  }
}

/** The addresses that the platform answers on every game's site. */
const PLATFORM = /^(?:auth\/service|mp|__service)(?:\/|$)/

interface Named {
  path: string
  lower: string
}

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1)

/** A text that the server does not have yet. */
interface Unsent {
  text: string
  /** The revision from which its author went on; null for a new file. */
  revision: number | null
}

/**
 * Texts that the server does not have yet. They stay in this browser until it has them: a closed lid, a lost connection
 * and a closed tab lose nothing.
 */
export class UnsentTexts {
  readonly #prefix: string

  constructor(gameId: string) {
    this.#prefix = `draft/${gameId}/`
  }

  keep(path: string, unsent: Unsent): void {
    try {
      localStorage.setItem(this.#prefix + path, JSON.stringify(unsent))
    } catch {
      // The storage of the browser is full or off. The text is saved within a second where there is a connection.
    }
  }

  forget(path: string): void {
    try {
      localStorage.removeItem(this.#prefix + path)
    } catch {}
  }

  find(path: string): Unsent | null {
    try {
      return JSON.parse(localStorage.getItem(this.#prefix + path) ?? 'null')
    } catch {
      return null
    }
  }

  /** Lists the paths with an unsent text. */
  paths(): string[] {
    try {
      return Object.keys(localStorage).flatMap((key) =>
        key.startsWith(this.#prefix) ? [key.slice(this.#prefix.length)] : [],
      )
    } catch {
      return []
    }
  }
}

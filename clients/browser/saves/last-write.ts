import type { Outcome, Server } from './server.ts'
import type { Encoded } from './values.ts'

/**
 * Sends the last change of a page that may be closing, so that it need not wait for the next page. It is sent before it
 * is in the store, which is told afterwards if the page still lives.
 */
export class LastWrites {
  /** The versions of saves of which nothing waits on this device; null for none. */
  readonly #versions = new Map<string, number | null>()
  /** The requests, by the number of the change. */
  readonly #requests = new Map<number, Promise<Outcome>>()
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  /** Notes the version of a save whose value is on the server; null for none. */
  note(key: string, version: number | null): void {
    this.#versions.set(key, version)
  }

  /** Another player: nothing is known of the saves. */
  forget(): void {
    this.#versions.clear()
  }

  /**
   * Notes that a save changes, and sends the value if the page may be closing.
   *
   * @param account null: other changes come before this one
   * @returns null when it is not sent
   */
  send(account: string | null, key: string, value: Encoded | null): Promise<Outcome> | null {
    const version = this.#versions.get(key)
    this.#versions.delete(key)
    if (!account || !value || version === undefined || !this.#server.isClosing) return null
    return this.#server.put(account, key, value, version)
  }

  keep(sequence: number, request: Promise<Outcome>): void {
    this.#requests.set(sequence, request)
  }

  /** Returns the request of a change, once. */
  take(sequence: number): Promise<Outcome> | undefined {
    const request = this.#requests.get(sequence)
    this.#requests.delete(sequence)
    return request
  }
}

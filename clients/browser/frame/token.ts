const KEY = 'service:frame-token'
/** The value sent in place of a token when the player has signed out, so that the browser's cookie does not count. */
const NOBODY = '-'

/**
 * The token of a frame whose browser keeps no cookie there. It is stored in memory and, where available, in the frame's
 * `sessionStorage`, so that it survives a reload.
 */
export class TokenStore {
  #token: string | null
  /** Null where the browser blocks it. Other code may put one in its place that does not survive a reload. */
  readonly #storage = touch(() => window.sessionStorage)
  /** Whether the token survives a reload. */
  lasting = true

  constructor() {
    this.#token = touch(() => this.#storage?.getItem(KEY)) ?? null
  }

  get value(): string | null {
    return this.#token
  }

  keep(token: string): void {
    this.#token = token
    this.lasting =
      touch(() => {
        this.#storage?.setItem(KEY, token)
        return this.#storage?.getItem(KEY)
      }) === token
  }

  forget(): void {
    this.#token = null
    touch(() => this.#storage?.removeItem(KEY))
  }

  /** Keeps the player signed out until a token is stored or this store is cleared. */
  keepNobody(): void {
    this.keep(NOBODY)
  }
}

/** Accesses the storage, which throws where the browser blocks it. */
function touch<Value>(access: () => Value): Value | null {
  try {
    return access()
  } catch {
    return null
  }
}

const KEY = 'service:frame-token'
/** The value sent in place of a token when the player has signed out, so that the browser's cookie does not count. */
const NOBODY = '-'

/**
 * The token of a frame whose browser keeps no cookie there. It is stored in memory and, where available, in the frame's
 * `sessionStorage`, so that it survives a reload.
 */
export class TokenStore {
  #token: string | null
  /** Whether the token survives a reload. */
  lasting = true

  constructor() {
    this.#token = stored(() => sessionStorage.getItem(KEY))
  }

  get value(): string | null {
    return this.#token
  }

  keep(token: string): void {
    this.#token = token
    this.lasting =
      stored(() => {
        sessionStorage.setItem(KEY, token)
        return sessionStorage.getItem(KEY)
      }) === token
  }

  forget(): void {
    this.#token = null
    stored(() => sessionStorage.removeItem(KEY))
  }

  /** Keeps the player signed out until a token is stored or this store is cleared. */
  keepNobody(): void {
    this.keep(NOBODY)
  }
}

/** Accesses the storage, which throws where the browser blocks it. */
function stored<Value>(touch: () => Value): Value | null {
  try {
    return touch()
  } catch {
    return null
  }
}

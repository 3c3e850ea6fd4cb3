const KEY = 'service:frame-token'
/** What is sent in its place where nobody is to be signed in, whatever cookie the browser sends along. */
const NOBODY = '-'

/**
 * The token of a frame whose browser keeps no cookie there. It is stored in memory and, where available, in the frame's
 * `sessionStorage`, so that it survives a reload.
 */
export class TokenStore {
  #token: string | null
  /** Whether a reload would keep it. */
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

  /** Has the player stay signed out, until a token is kept or this forgotten. */
  keepNobody(): void {
    this.keep(NOBODY)
  }
}

/** Touches the storage, which throws where the browser blocks it. */
function stored<Value>(touch: () => Value): Value | null {
  try {
    return touch()
  } catch {
    return null
  }
}

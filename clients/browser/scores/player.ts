import { FRAME_SESSION_CHANGED, frameSession } from '../frame/hook.ts'
import { readSession, type Session } from '../player/session.ts'

const KEY = 'service.scores.player'

/** Who plays on this device: the answer of the server, or, without a connection, the last player. */
export class ScorePlayer {
  #session: Session | null = null
  #reading: Promise<Session | null> | null = null

  constructor() {
    globalThis.addEventListener?.(FRAME_SESSION_CHANGED, () => {
      this.#session = null
    })
  }

  /** The player's id; '' when nobody is signed in; null when that is not known and nobody has played here before. */
  get id(): string | null {
    if (this.#session) return this.#session.user?.id ?? ''
    try {
      return localStorage.getItem(KEY)
    } catch {
      return null
    }
  }

  /** Reads the session. Resolves with null when it is temporarily unavailable. */
  read(): Promise<Session | null> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  /** Waits for the session of this page, unless it is known. */
  async settle(): Promise<void> {
    if (!this.#session) await this.read()
  }

  async #read(): Promise<Session | null> {
    await frameSession()?.ready
    const session = await readSession()
    if (typeof session?.signedIn !== 'boolean') return null
    this.#session = session
    try {
      if (session.user) localStorage.setItem(KEY, session.user.id)
      else localStorage.removeItem(KEY)
    } catch {
      // Without storage the player is known while the page is open.
    }
    return session
  }
}

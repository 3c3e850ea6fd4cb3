/** The time limit for the play page to fetch a ticket. */
const ANSWER_MS = 5000
/**
 * Matches the name that the play page gives its frame. The name says whether the viewer is signed in; it is a hint and
 * no secret.
 */
const NAME = /^service-(player|visitor)(?:-|$)/

/** The portal's play page around this frame. */
export class PlayPage {
  readonly #portal: string
  /** Whether the viewer of the play page is signed in there. */
  readonly hasPlayer: boolean

  private constructor(portal: string, hasPlayer: boolean) {
    this.#portal = portal
    this.hasPlayer = hasPlayer
  }

  /** Returns null when another page surrounds this one. @param portal origin of the portal */
  static around(portal: string): PlayPage | null {
    const name = NAME.exec(window.name)
    // Not every browser has `ancestorOrigins`.
    const above = location.ancestorOrigins?.[0] ?? portal
    return name && window.parent === window.top && above === portal ? new PlayPage(portal, name[1] === 'player') : null
  }

  /**
   * Requests a ticket for this frame. Resolves with null when nobody is signed in there, or the player signed out in
   * this frame.
   */
  async ticket({ pressed = false } = {}): Promise<string | null> {
    const { ticket } = (await this.#ask({ type: 'service:ticket', pressed }, ANSWER_MS)) ?? {}
    return typeof ticket === 'string' ? ticket : null
  }

  /**
   * Asks the play page, where nobody is signed in, to lead to the sign-in and back.
   *
   * @returns false when it does not know this message, since it is older
   */
  async signIn(): Promise<boolean> {
    return (await this.#ask({ type: 'service:sign-in' }, 1000)) !== null
  }

  /** Reports a sign-out in this frame, so that the play page issues no more tickets on its own. */
  signedOut(): void {
    this.#say({ type: 'service:signed-out' })
  }

  /** Returns the answer, a message of the same type; null when there is none in time. */
  #ask(question: { type: string; pressed?: boolean }, withinMs: number): Promise<{ ticket?: unknown } | null> {
    return new Promise((resolve) => {
      const end = (answer: { ticket?: unknown } | null) => {
        clearTimeout(timeout)
        removeEventListener('message', onMessage)
        resolve(answer)
      }
      const onMessage = ({ source, origin, data }: MessageEvent) => {
        if (source === window.parent && origin === this.#portal && data?.type === question.type) end(data)
      }
      const timeout = setTimeout(() => end(null), withinMs)
      addEventListener('message', onMessage)
      this.#say(question)
    })
  }

  #say(message: object): void {
    window.parent.postMessage(message, this.#portal)
  }
}

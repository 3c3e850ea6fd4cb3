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
  ticket({ pressed = false } = {}): Promise<string | null> {
    return new Promise((resolve) => {
      const end = (ticket: string | null) => {
        clearTimeout(timeout)
        removeEventListener('message', onMessage)
        resolve(ticket)
      }
      const onMessage = ({ source, origin, data }: MessageEvent) => {
        if (source !== window.parent || origin !== this.#portal || data?.type !== 'service:ticket') return
        end(typeof data.ticket === 'string' ? data.ticket : null)
      }
      const timeout = setTimeout(() => end(null), ANSWER_MS)
      addEventListener('message', onMessage)
      this.#say({ type: 'service:ticket', pressed })
    })
  }

  /** Reports a sign-out in this frame, so that the play page issues no more tickets on its own. */
  signedOut(): void {
    this.#say({ type: 'service:signed-out' })
  }

  #say(message: object): void {
    window.parent.postMessage(message, this.#portal)
  }
}

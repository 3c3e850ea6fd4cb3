/** How long the play page may take to fetch a ticket. */
const ANSWER_MS = 5000
/** The play page gives its frame one of these names: whether the viewer is signed in there. No secret, a hint only. */
const NAME = /^service-(player|visitor)(?:-|$)/

/** The portal's play page around this frame. */
export class PlayPage {
  readonly #portal: string
  /** Whether its viewer is signed in there. */
  readonly hasPlayer: boolean

  private constructor(portal: string, hasPlayer: boolean) {
    this.#portal = portal
    this.hasPlayer = hasPlayer
  }

  /** Null when some other page is around. @param portal origin of the portal */
  static around(portal: string): PlayPage | null {
    const name = NAME.exec(window.name)
    // Not in every browser.
    const above = location.ancestorOrigins?.[0] ?? portal
    return name && window.parent === window.top && above === portal ? new PlayPage(portal, name[1] === 'player') : null
  }

  /** A ticket for this frame. Null when nobody is signed in there, or the player signed out in this frame. */
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

  /** The player signed out here: no more tickets unasked. */
  signedOut(): void {
    this.#say({ type: 'service:signed-out' })
  }

  #say(message: object): void {
    window.parent.postMessage(message, this.#portal)
  }
}

/**
 * Provides the player's session to a game in a frame. The platform inserts this script before every other script of
 * such a page; at top level it does nothing.
 *
 * Where the browser keeps the session cookie in a frame, there is little to do. Where it does not, the play page around
 * the frame issues a ticket, the ticket is exchanged for a token, and the page's requests to the platform carry the
 * token. In a frame of another site the player signs in with one click, in a separate window. The game's own code does
 * not change.
 */

import { replaceDeniedStorage } from './frame/denied-storage.ts'
import { leaveByEscape } from './frame/escape-key.ts'
import { FRAME_SESSION_CHANGED, type FrameSession, frameSession, setFrameSession } from './frame/hook.ts'
import { PlayPage } from './frame/play-page.ts'
import { closePrivateFiles, openPrivateFiles, shareTokenWithWorker } from './frame/private-files.ts'
import { attachToken } from './frame/requests.ts'
import { keepScrollKeys } from './frame/scroll-keys.ts'
import { signInByWindow } from './frame/sign-in-window.ts'
import { TokenStore } from './frame/token.ts'

const START = '/auth/service/start'

/**
 * Where the player is signed in: in this frame as the player of the surrounding page, or to the game at its own
 * address, whose cookie some browsers also send in frames.
 */
type Player = 'here' | 'at its own address' | 'nobody' | 'unknown'

class Framed implements FrameSession {
  readonly ready: Promise<void>
  readonly #kept = new TokenStore()
  readonly #playPage: PlayPage | null
  /** Whether a ticket was redeemed since this page loaded. */
  #redeemed = false
  /** The original `fetch`, before this script replaces the page's own. */
  readonly #fetch = window.fetch.bind(window)

  /** @param isPrivate whether this page replaces a game that is not public */
  constructor(portal: string, isPrivate: boolean) {
    this.#playPage = PlayPage.around(portal)
    this.ready = this.#settle().catch(() => {})
    shareTokenWithWorker(() => this.token)
    if (isPrivate) void this.ready.then(() => this.#enter()).catch(() => {})
  }

  get token(): string | null {
    return this.#kept.value
  }

  /** Determines the player from the cookie or token, else from the surrounding page. */
  async #settle(): Promise<void> {
    const player = await this.#player(this.token)
    if (player === 'unknown' || this.#isOurs(player)) return
    this.#forget()
    if (!this.#playPage?.hasPlayer) return
    const ticket = await this.#playPage.ticket()
    if ((ticket === null || !(await this.#redeem(ticket))) && (await this.#player(null)) === 'at its own address')
      this.#kept.keepNobody()
  }

  /**
   * Returns whether this player may play here. When the play page has a player, a sign-in at the game's own address
   * does not count.
   */
  #isOurs(player: Player): boolean {
    return player === 'here' || (player === 'at its own address' && !this.#playPage?.hasPlayer)
  }

  /** Signs in after the player clicked a sign-in link. */
  async signIn(link: HTMLAnchorElement): Promise<void> {
    const redeem = (ticket: string) => this.#redeem(ticket)
    if (!this.#playPage) {
      if (await signInByWindow(redeem)) this.#changed()
      return
    }
    if (!this.#playPage.hasPlayer) {
      if (!(await this.#playPage.signIn())) leaveFrame(link.href)
      return
    }
    const ticket = await this.#playPage.ticket({ pressed: true })
    if (ticket !== null && (await this.#redeem(ticket))) this.#changed()
    else leaveFrame(link.href)
  }

  signedOut(): void {
    this.#forget()
    if (this.#playPage?.hasPlayer) this.#kept.keepNobody()
    this.#playPage?.signedOut()
  }

  /** Opens a private game for a player who is now known. */
  async #enter(): Promise<void> {
    const inside = this.token ? await openPrivateFiles(this.token) : this.#redeemed
    if (inside) location.reload()
  }

  #forget(): void {
    if (this.token) void closePrivateFiles().catch(() => {})
    this.#kept.forget()
  }

  /** Reloads the page, as after a sign-in at top level, unless a reload would lose the session. */
  #changed(): void {
    if (this.#kept.lasting) location.reload()
    else dispatchEvent(new Event(FRAME_SESSION_CHANGED))
  }

  async #redeem(ticket: string): Promise<boolean> {
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const body = JSON.stringify({ ticket })
    const answer = await this.#fetch('/auth/service/frame-token', { method: 'POST', headers, body })
    if (!answer.ok) return false
    this.#redeemed = true
    const { token } = await answer.json()
    // If the browser kept the cookie of this response, scripts need no token.
    if (this.#isOurs(await this.#player(null))) this.#kept.forget()
    else this.#kept.keep(token)
    return true
  }

  async #player(token: string | null): Promise<Player> {
    const headers = { accept: 'application/json', ...(token ? { authorization: `Service ${token}` } : {}) }
    const answer = await this.#fetch('/auth/service/session', { headers, cache: 'no-store' })
    if (!answer.ok) return 'unknown'
    if (!(await answer.json()).signedIn) return 'nobody'
    return answer.headers.has('service-frame-session') ? 'here' : 'at its own address'
  }
}

/**
 * Replaces the surrounding page with an address. It clicks a link, because every browser lets a link navigate out of a
 * frame after a click.
 */
function leaveFrame(href: string): void {
  const link = document.createElement('a')
  link.href = href
  link.target = '_top'
  link.click()
}

/** Returns the frame session of a surrounding page of the same origin, because a game may contain frames. */
function sessionAbove(): FrameSession | undefined {
  try {
    return frameSession(window.parent)
  } catch {
    return undefined
  }
}

const { portal, place } = (document.currentScript as HTMLScriptElement).dataset

if (portal && window.top !== window && !frameSession()) {
  const above = sessionAbove()
  const framed = above ? null : new Framed(portal, place === 'private')
  const session = above ?? (framed as FrameSession)
  setFrameSession(session)
  replaceDeniedStorage(portal)
  keepScrollKeys()
  leaveByEscape(portal)
  attachToken(session, () => framed?.signedOut())
  // The portal's pages never show in a frame, so this handles clicks on sign-in links itself, in shadow trees too.
  addEventListener(
    'click',
    (event) => {
      const link = event.composedPath().find((element) => element instanceof HTMLAnchorElement)
      if (!framed || !link || link.origin !== location.origin || link.pathname !== START) return
      event.preventDefault()
      void framed.signIn(link)
    },
    true,
  )
}

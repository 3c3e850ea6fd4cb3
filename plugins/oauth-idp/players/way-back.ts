import type { FastifyReply, FastifyRequest } from 'fastify'
import { returnPath } from '../../../core/origins/return-path.ts'
import type { BrowserCookie } from '../sessions/browser-cookie.ts'

/** Where a player goes after a mailed link. It is stored with the token of the link. */
export interface WayBack {
  /** A path of the portal. */
  returnTo: string
  /** The browser in which the sign-in began (`BrowserCookie`). */
  browser: string
}

const AUTHORIZE = '/oauth/authorize?'

/**
 * The way back of a sign-in that continues with a mailed link. The link may be opened on another device. The sign-in of
 * a game can't end there, because its state is in the first browser; a page then leads to the game's own address.
 */
export class WaysBack {
  readonly #portal: string
  readonly #browser: BrowserCookie

  constructor({ portal, browser }: { portal: string; browser: BrowserCookie }) {
    this.#portal = portal
    this.#browser = browser
  }

  /** Returns what to store with the token. @param wanted path from a form or a query */
  begin(request: FastifyRequest, reply: FastifyReply, wanted: unknown): WayBack {
    return { returnTo: returnPath(wanted, this.#portal), browser: this.#browser.mark(request, reply) }
  }

  /** Returns the path to go on to. @param stored by `begin`; nothing for a link without a way back */
  end(request: FastifyRequest, stored: Partial<WayBack> | null | undefined): string {
    const returnTo = returnPath(stored?.returnTo, this.#portal)
    if (!returnTo.startsWith(AUTHORIZE) || this.#browser.read(request) === stored?.browser) return returnTo
    return `/oauth/continue?${returnTo.slice(AUTHORIZE.length)}`
  }
}

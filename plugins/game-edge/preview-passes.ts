import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { valuesOf } from '../../core/origins/cookies.ts'
import type { Game } from '../games/index.ts'
import { cookieSite, gameCookie, setCookie } from './sign-in/cookies.ts'
import { SealedTokens } from './sign-in/sealed-tokens.ts'

interface Claims {
  sub: string
  game: string
  /** The player's epoch. A player who is signed out everywhere or disabled loses access here too. */
  epoch: number
}

/** The redirect from the portal to the preview needs only a short time. */
const PASS_SECONDS = 60
const COOKIE_SECONDS = 12 * 3600

/**
 * Gives makers and testers of a private game access to its previews. The existence of a preview is secret, including its
 * sign-in. The portal, where they are signed in, therefore sends a pass to the preview's address, which stores it as a
 * cookie. A pass opens one preview, for one player, while that player may see it.
 */
export class PreviewPasses {
  readonly #app: FastifyInstance
  readonly #passes: SealedTokens
  readonly #cookies: SealedTokens

  constructor(app: FastifyInstance) {
    this.#app = app
    const keys = app.keyRings.ring('sessions', 'game-edge/preview', COOKIE_SECONDS * 1000)
    this.#passes = new SealedTokens(keys, 'preview-pass')
    this.#cookies = new SealedTokens(keys, 'preview')
  }

  /** Returns the address that opens a preview for a player. @param url the preview's address */
  async link(url: string, game: Game, playerId: string): Promise<string> {
    const { host, origin } = new URL(url)
    const standing = await this.#app.identity.players.standing(playerId)
    const claims: Claims = { sub: playerId, game: game.id, epoch: standing?.epoch ?? 0 }
    const pass = await this.#passes.seal({ ...claims }, host, this.#in(PASS_SECONDS))
    return `${origin}/auth/service/preview?pass=${pass}`
  }

  /** Redeems a pass. @returns a `Set-Cookie` header; null for an invalid or expired pass, or one for another address */
  async take(request: IncomingMessage, host: string, pass: string): Promise<string | null> {
    const claims = await this.#passes.open<Claims>(pass, host, this.#app.clock.now())
    if (!claims) return null
    const { sub, game, epoch } = claims
    const token = await this.#cookies.seal({ sub, game, epoch }, host, this.#in(COOKIE_SECONDS))
    const { name } = gameCookie(this.#app.origins.atHost(host), 'preview')
    return setCookie(cookieSite(request, host, this.#app.origins.secure), name, token, COOKIE_SECONDS)
  }

  /** Whether a request to a preview comes from somebody who may see it. */
  async admits(request: IncomingMessage, host: string, game: Game): Promise<boolean> {
    const values = valuesOf(request.headers.cookie, gameCookie(this.#app.origins.atHost(host), 'preview'))
    if (values.length !== 1) return false
    const claims = await this.#cookies.open<Claims>(values[0] as string, host, this.#app.clock.now())
    if (claims?.game !== game.id || !this.#app.games.may(claims.sub, game, 'test')) return false
    const standing = await this.#app.identity.players.standing(claims.sub)
    return standing !== null && !standing.disabled && standing.epoch === claims.epoch
  }

  #in(seconds: number): Date {
    return new Date(this.#app.clock.now().getTime() + seconds * 1000)
  }
}

import type { FastifyInstance } from 'fastify'
import type { Game } from '../../games/index.ts'
import { SIGN_IN_SCOPE } from '../sign-in/flow.ts'
import type { GameSession, Granted } from '../sign-in/sessions.ts'
import { type TicketPlace, Tickets } from './tickets.ts'

/** A player who is signed in at the portal. */
export interface PortalPlayer {
  playerId: string
  /** The browser session. */
  sessionId: string
}

/**
 * Signs a player in to a game in a frame, with a ticket issued by the page around the frame. It needs no third-party
 * cookie, since most browsers send none in a frame.
 */
export class EmbeddedSignIn {
  readonly tickets: Tickets
  readonly #app: FastifyInstance

  constructor(app: FastifyInstance) {
    this.#app = app
    this.tickets = new Tickets(app)
  }

  /**
   * Issues a ticket for a player who is signed in at the portal, valid at the game's main address.
   *
   * @returns null when the game has no sign-in, or has to ask the player for consent first
   */
  async ticketFor(
    { playerId, sessionId }: PortalPlayer,
    game: Game,
    purpose: TicketPlace['purpose'],
  ): Promise<string | null> {
    const origin = this.#app.origins.game(game.slug)
    const application = { clientId: game.clientId, redirectUri: `${origin}/auth/service/callback` }
    const consentId = await this.#app.identity.consentRules.withoutAsking(playerId, application, [SIGN_IN_SCOPE])
    if (consentId === null) return null
    const { host } = new URL(origin)
    return this.tickets.issue({ purpose, playerId, sessionId, consentId, gameId: game.id, host })
  }

  /**
   * Gives a frame the session of a separate window of the same browser in which the player signed in.
   *
   * @param ticket made by the window, which has sent it to the frame (clients/browser/frame-page.ts)
   */
  async handOver(ticket: string, session: GameSession, { game, host }: { game: Game; host: string }): Promise<void> {
    const { player, sessionId, consentId } = session
    await this.tickets.issue(
      { purpose: 'token', playerId: player.id, sessionId, consentId, gameId: game.id, host },
      ticket,
    )
  }

  /** Redeems a ticket. @returns null for an invalid ticket, or when the session or consent behind it has ended */
  async redeem(
    ticket: string,
    purpose: TicketPlace['purpose'],
    { game, host }: { game: Game; host: string },
  ): Promise<Granted | null> {
    const { games, identity } = this.#app
    const binding = await this.tickets.redeem(ticket, { purpose, gameId: game.id, host })
    if (!binding || !(await identity.apps.find(game.clientId))) return null
    const { playerId, sessionId, consentId } = binding
    if (sessionId != null && !(await identity.sessions.holds(sessionId))) return null
    if (!(await identity.consents.holds(consentId))) return null
    const player = await identity.players.find(playerId)
    if (!player || player.disabled || !games.visibleTo(player.id, game)) return null
    return {
      player: { id: player.id, name: player.name, imageUrl: player.imageUrl },
      scope: SIGN_IN_SCOPE,
      clientId: game.clientId,
      consentId,
      sessionId: sessionId ?? null,
      isOfFrame: true,
    }
  }

  /** Counts a sign-in in the same way as the authorization code flow. */
  count(game: Game, playerId: string): void {
    this.#app.identity.signIns.count(game.clientId, playerId)
    this.#app.games.count.signIn(game.id, playerId)
  }
}

import type { OAuthClient } from './client.ts'

/** A client with the game that it signs players in to, if there is one. */
export type LinkedClient = Pick<OAuthClient, 'clientId' | 'gameId'>

/** Whether the game of a client, or a game to which it is linked, is suspended. */
export type SuspensionCheck = (client: LinkedClient) => Promise<boolean>

/**
 * Which clients may not act because their game is suspended. Every grant, every look-up of a token and every page of a
 * sign-in asks this.
 */
export class SuspendedClients {
  #check: SuspensionCheck = async () => false

  /** Registers the check. Without one, no client is suspended. */
  checkWith(check: SuspensionCheck): void {
    this.#check = check
  }

  has(client: LinkedClient): Promise<boolean> {
    return this.#check(client)
  }
}

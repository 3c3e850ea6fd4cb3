import type { Account } from './member.ts'

/**
 * What a room tells its script, in the room's order. The methods return at once; what the
 * script wants arrives later, by the room's own methods.
 */
export interface ScriptEvents {
  /** Whether messages of players reach other players directly. */
  readonly relay: boolean
  /** Whether players may write the shared state. */
  readonly clientState: boolean
  message(id: string, type: string, data: unknown): void
  binary(id: string, bytes: Buffer): void
  presence(id: string, data: unknown): void
  /** The shared state was written, by a player or by the script itself. Only with `clientState`. */
  written(set: Record<string, unknown>, del: string[]): void
  left(id: string, reason: string, account: Account): void
}

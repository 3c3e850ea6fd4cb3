import { json } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'

/** Returns all data about a player, as the file that they download has it. */
export async function exportOf({ identity, clock }: FastifyInstance, playerId: string) {
  return json(identity.deletion.data.begin(playerId, clock.now())) as Promise<Record<string, unknown>>
}

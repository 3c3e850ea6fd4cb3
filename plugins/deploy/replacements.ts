import type { FastifyInstance } from 'fastify'
import { DeployRow, uploaderOf } from './entities.ts'
import type { FinalizedDeploy, Replacement } from './schemas.ts'

type People = ReadonlyMap<string, NonNullable<Replacement['player']>>

/** Returns the player who took the place of a deploy with another one; null when none did. */
export const replacerOf = (row: DeployRow): string | null =>
  wasReplaced(row) ? (row.replacedByPlayerId ?? null) : null

/** Describes what took the place of a deploy when it was last live. @param people who did, by their ids */
export function replacedBy(row: DeployRow, people: People): Replacement | null {
  if (!wasReplaced(row)) return null
  const { replacedById, replacedAt } = row
  return {
    deployId: replacedById as string,
    player: people.get(replacerOf(row) ?? '') ?? null,
    at: (replacedAt as Date).toISOString(),
  }
}

/** An earlier version of the program, which runs beside this one during an update, puts deploys live without a record. */
const wasReplaced = ({ state, replacedById, replacedAt, liveAt }: DeployRow): boolean =>
  state !== 'live' && replacedById != null && replacedAt != null && liveAt != null && replacedAt >= liveAt

/** The deploys that a publication has taken the place of, by their ids. */
interface Former {
  /** The one that went live after the published one had begun. */
  replaced?: string | null | undefined
  /** The one that a rollback took off. */
  undoes?: string | null | undefined
}

/** Returns for the answer to a publication whose deploys it took the place of, and who has taken its place meanwhile. */
export async function replacementsOf(
  { db, games }: Pick<FastifyInstance, 'db' | 'games'>,
  row: DeployRow,
  { replaced, undoes }: Former,
): Promise<Pick<FinalizedDeploy, keyof Former | 'replacedBy'>> {
  const formerId = replaced ?? undoes
  const former = formerId ? await db.em().findOne(DeployRow, { id: formerId }) : null
  const ids = [...(former ? [uploaderOf(former).playerId] : []), replacerOf(row) ?? []].flat()
  const people: People = ids.length > 0 ? await games.members.people(ids) : new Map()
  const by = replacedBy(row, people)
  return {
    ...(former ? { [replaced ? 'replaced' : 'undoes']: describe(former, people) } : {}),
    ...(by ? { replacedBy: by } : {}),
  }
}

const describe = (row: DeployRow, people: People): Replacement => ({
  deployId: row.id,
  player: people.get(uploaderOf(row).playerId) ?? null,
  at: (row.liveAt ?? row.createdAt).toISOString(),
})

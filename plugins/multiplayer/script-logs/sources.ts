import type { RoomLogLine } from './entities.ts'
import type { LogLine } from './schemas.ts'

type Place = NonNullable<LogLine['source']>

/**
 * Finds the places of exceptions in the files as their maker wrote them, with one question for each deploy.
 *
 * @param locate finds places of a deploy's room script
 * @returns by the ids of the lines; those that are no exception, or whose deploy is gone, are left out
 */
export async function sourcesOf(
  lines: readonly RoomLogLine[],
  locate: (deployId: string, places: readonly { line: number; column: number }[]) => Promise<(Place | null)[]>,
): Promise<Map<string, Place>> {
  const thrown = lines.flatMap(({ id, deployId, line, columnNumber }) =>
    typeof line === 'number' ? [{ id, deployId, line, column: columnNumber ?? 1 }] : [],
  )
  const sources = new Map<string, Place>()
  for (const [deployId, ofDeploy] of Map.groupBy(thrown, (place) => place.deployId)) {
    const located = await locate(deployId, ofDeploy)
    for (const [index, { id }] of ofDeploy.entries()) {
      const place = located[index]
      if (place) sources.set(id, { path: place.path, line: place.line, column: place.column })
    }
  }
  return sources
}

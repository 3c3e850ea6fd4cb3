import { printablePath } from '../../../core/data/file-path.ts'
import { InvalidRequest } from '../../../core/errors.ts'

/** The project file of the command line, which an archive may have at its root. */
export const PROJECT_FILE = 'gameyard.json'

/**
 * Returns the room script that a project file names: a path in the archive; null when it names none.
 *
 * @param text the content of the file
 * @throws InvalidRequest when it cannot be read
 */
export function roomNamedIn(text: string): string | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new InvalidRequest(`${PROJECT_FILE} is not JSON: ${printablePath((error as Error).message)}`)
  }
  const room = typeof value === 'object' && value !== null ? (value as { room?: unknown }).room : null
  if (room === undefined || room === null) return null
  if (typeof room !== 'string' || room === '') throw new InvalidRequest(`"room" in ${PROJECT_FILE} is not a path.`)
  return room.replace(/^(?:\.\/)+/, '')
}

import { findStarter, type Starter } from '../../../plugins/starters/catalog.ts'
import { filesOf } from '../../../plugins/starters/files.ts'

const LENGTH = 'const ROUND = 60_000 '

/** The starter `authority`. */
export const AUTHORITY = findStarter('authority') as Starter

/** Returns the files of the starter `authority` with rounds of another length, by path. */
export async function withRounds(ms: number): Promise<Map<string, Buffer>> {
  const files = new Map((await filesOf(AUTHORITY)).map(({ path, bytes }) => [path, Buffer.from(bytes)]))
  const script = String(files.get('room.js'))
  if (!script.includes(LENGTH)) throw new Error(`room.js has no line "${LENGTH}".`)
  return files.set('room.js', Buffer.from(script.replace(LENGTH, `const ROUND = ${ms} `)))
}

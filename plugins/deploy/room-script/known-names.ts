/** The exports that a room calls or reads. */
export const ROOM_EXPORTS = [
  'settings',
  'open',
  'join',
  'message',
  'binary',
  'tick',
  'leave',
  'snapshot',
  'restore',
  'close',
] as const

/** What one of `settings` may be. */
interface Rule {
  accepts(value: unknown): boolean
  /** The end of the sentence `settings.tick must be …`. */
  is: string
  /** Whether a room with another value never opens. Otherwise the other value counts as the default. */
  isStrict: boolean
}

/** The most players that a script may name. The room has fewer where the game or the host says so. */
const MOST_PLAYERS = 1e6
const isFrom = (value: unknown, least: number, most: number) =>
  typeof value === 'number' && value >= least && value <= most
const isFlag: Rule = { accepts: (value) => typeof value === 'boolean', is: 'true or false', isStrict: false }

/** The settings of a room script, as the sandbox reads them (plugins/multiplayer/scripts/sandbox/prelude). */
export const ROOM_SETTINGS: Readonly<Record<string, Rule>> = {
  tick: { accepts: (value) => isFrom(value, 0, 60), is: 'a number from 0 to 60', isStrict: true },
  players: {
    accepts: (value) => value === null || (isFrom(value, 1, MOST_PLAYERS) && Number.isInteger(value)),
    is: `a whole number from 1 to ${MOST_PLAYERS}`,
    isStrict: true,
  },
  clientState: isFlag,
  relay: isFlag,
}

/** What other platforms put around the name of an event: `onPlayerJoin`. */
const AROUND = /^(?:on|handle)(?=[A-Z])/

/** Returns the known name that was probably meant; null when none is near. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const plain = name.replace(AROUND, '').toLowerCase()
  const ranked = known
    .map((candidate) => ({ candidate, distance: distanceOf(plain, candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best && best.distance <= 2 ? best.candidate : null
}

/** A name that begins or ends with the known one is as near as one with a single wrong letter. */
function distanceOf(name: string, known: string): number {
  if (name === known) return 0
  if (name.startsWith(known) || name.endsWith(known)) return 1
  // Of short names, most are within two letters of each other.
  return known.length > 3 && name.length > 3 ? editDistance(name, known) : 3
}

/** The Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let row = 1; row <= a.length; row++) {
    const line = [row]
    for (let at = 1; at <= b.length; at++) {
      const same = a[row - 1] === b[at - 1] ? 0 : 1
      line.push(Math.min((line[at - 1] ?? 0) + 1, (above[at] ?? 0) + 1, (above[at - 1] ?? 0) + same))
    }
    above = line
  }
  return above[b.length] ?? 0
}

import { formatAgo } from '../terminal.ts'

/** Another deploy of the game, and who made it or put it live. `player` is null for an account that has ended. */
export interface Replacement {
  deployId: string
  player: { id: string; name: string } | null
  at: string
}

/** What the platform says about other deploys after a publication. All of it is absent from older platforms. */
export interface Replacements {
  /** The deploy that went live after this one had begun. */
  replaced?: Replacement
  /** The deploy that has taken the place of this one already. */
  replacedBy?: Replacement
  /** The deploy that a rollback took off. */
  undoes?: Replacement
}

const nameOf = ({ player }: Replacement): string => player?.name ?? 'a deleted account'

/** Says which deploys of others met the published one: a sentence each. */
export function replacementsIn({ replaced, replacedBy }: Replacements, now: Date): string[] {
  return [
    ...(replaced
      ? [
          `This replaced the deploy of ${nameOf(replaced)} (${replaced.deployId}), which went live ${formatAgo(replaced.at, now)}, after this one had begun.`,
        ]
      : []),
    ...(replacedBy ? [`${nameOf(replacedBy)} has put another deploy live already (${replacedBy.deployId}).`] : []),
  ]
}

/** A deploy of the list, as far as it says who replaced it. */
interface Listed {
  by?: { id: string } | null | undefined
  replacedBy?: Replacement | null
  liveAt: string | null
}

/** Says which other maker replaced a deploy, and how soon; an empty text when none did. */
export function replacedWords({ by, replacedBy, liveAt }: Listed): string {
  if (!replacedBy || !liveAt || replacedBy.player?.id === by?.id) return ''
  return ` by ${nameOf(replacedBy)} after ${spanOf(Date.parse(replacedBy.at) - Date.parse(liveAt))}`
}

/** Says whose deploy a rollback took off. @param message the note of that deploy */
export const undoneWords = (undone: Replacement, message: string | null | undefined, now: Date): string =>
  `the deploy of ${nameOf(undone)}${message ? `: ${message}` : ''} (live ${formatAgo(undone.at, now)})`

/** Formats the time for which a deploy was live: `12 s`, `3 min`, `5 h`, `2 days`. */
function spanOf(milliseconds: number): string {
  const minutes = Math.round(milliseconds / 60_000)
  if (minutes < 2) return `${Math.round(milliseconds / 1000)} s`
  if (minutes < 60) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1440)} days`
}

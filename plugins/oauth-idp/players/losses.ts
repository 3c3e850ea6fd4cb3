/** What of a plugin goes with an account. */
export interface Loss {
  /** Things with their number, such as `8 games`. */
  what: string
  /** A sentence to add. */
  note?: string | undefined
}

/** Counts, by an index, what of a plugin goes with an account; null for nothing. Pages that end one ask it. */
export type LossCounter = (playerId: string) => Promise<Loss | null>

const inWords = new Intl.ListFormat('en-GB')

/** Says what goes with an account, in sentences; empty for nothing. */
export function describeLosses(losses: readonly Loss[]): string {
  if (losses.length === 0) return ''
  const list = inWords.format(losses.map(({ what }) => what))
  const goes = losses.length === 1 && /^1 /.test(list) ? 'goes' : 'go'
  return [`${list} ${goes}, too.`, ...losses.flatMap(({ note }) => note ?? [])].join(' ')
}

/** Returns a number of things, such as `1 game` or `8 games`; null for none. */
export const loss = (count: number | string | undefined, thing: string, note?: string): Loss | null => {
  const number = Number(count ?? 0)
  return number > 0 ? { what: `${number} ${thing}${number === 1 ? '' : 's'}`, note } : null
}

import { chooseEncoding } from '../../../core/http/headers.ts'

/** The content codings in which files are stored beside the identity coding. */
export type Coding = 'br' | 'gzip'

const REMEMBERED = 500
const LONGEST = 200

/** The choice for an `Accept-Encoding`, for each set of codings that a file may have. */
interface Choices {
  br: Coding | null
  gzip: Coding | null
  both: Coding | null
}

const choices = new Map<string, Choices>()

/**
 * Chooses the coding of a file: brotli before gzip, as the client ranks them; null for the identity coding.
 *
 * Browsers send only a few different headers, so the results are cached.
 *
 * @param codings available for the file
 */
export function chooseCoding(accepted: string | undefined, codings: readonly Coding[]): Coding | null {
  if (codings.length === 0 || !accepted) return null
  const known = choices.get(accepted) ?? remember(accepted)
  return codings.length > 1 ? known.both : known[codings[0] as Coding]
}

function remember(accepted: string): Choices {
  const choose = (...codings: Coding[]) =>
    chooseEncoding(
      accepted,
      codings.map((coding) => ({ coding })),
    )?.coding ?? null
  const made = { br: choose('br'), gzip: choose('gzip'), both: choose('br', 'gzip') }
  if (accepted.length <= LONGEST) {
    if (choices.size >= REMEMBERED) choices.clear()
    choices.set(accepted, made)
  }
  return made
}

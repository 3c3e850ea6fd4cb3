/** The licenses that makers of assets for games choose most, and what each asks of a game. */
export const LICENSES: readonly { id: string; asks: string }[] = [
  { id: 'CC0-1.0', asks: 'nothing' },
  { id: 'CC-BY-4.0', asks: 'a credit' },
  { id: 'CC-BY-3.0', asks: 'a credit' },
  { id: 'CC-BY-SA-4.0', asks: 'a credit, and the same license for changed versions' },
  { id: 'CC-BY-NC-4.0', asks: 'a credit, and no commercial use' },
  { id: 'CC-BY-ND-4.0', asks: 'a credit, and no changes' },
  { id: 'MIT', asks: 'its text' },
  { id: 'OFL-1.1', asks: 'its text (fonts)' },
]

/** Matches an identifier within an expression, whatever its case. */
const KNOWN = LICENSES.map(({ id }) => ({ id, written: new RegExp(`(?<![^ (])${RegExp.escape(id)}(?![^ )])`, 'gi') }))

/**
 * Corrects what people write for an SPDX expression: `cc by 4.0` becomes `CC-BY-4.0`, `CC0` becomes `CC0-1.0`, and
 * `mit or cc0` becomes `MIT OR CC0-1.0`. It leaves what it does not know.
 */
export function correctLicense(text: string): string {
  const expression = text
    .trim()
    .replace(/(?<= )(?:and|or|with)(?= )/gi, (operator) => operator.toUpperCase())
    .replace(
      /(?<![^ (])cc[ -](by(?:[ -](?:nc|sa|nd)){0,2})[ -]v?(\d)(\.\d)?(?![^ )])/gi,
      (_, terms: string, major: string, minor = '.0') =>
        `CC-${terms.toUpperCase().replaceAll(' ', '-')}-${major}${minor}`,
    )
    .replace(/(?<![^ (])cc[ -]?(?:0|zero)(?:[ -]v?1(?:\.0)?)?(?![^ )])/gi, 'CC0-1.0')
  return KNOWN.reduce((corrected, { id, written }) => corrected.replace(written, id), expression)
}

/** Returns the licenses of an expression among which its reader may choose. One with brackets is a single choice. */
export const choicesOf = (license: string): string[] => (/[()]/.test(license) ? [license] : license.split(' OR '))

/** Returns the form of a license by which it is found: identifiers are the same in every case. */
export const nameOfChoice = (license: string): string => license.toLowerCase()

/**
 * Returns the line that names an asset in the credits of a game: title, author, license and address.
 *
 * @param asset as it is stored; without an author it is by its owner, whose name is null after the account was deleted
 * @param page the address of its page; null where nobody else may see it
 * @returns null for an asset without license and author
 */
export function attributionOf(
  {
    title,
    author,
    license,
    owner_name,
  }: { title: string; author: string | null; license: string | null; owner_name: string | null },
  page: string | null,
): string | null {
  if (license === null && author === null) return null
  const by = author ?? owner_name
  return [`“${title}”${by === null ? '' : ` by ${by}`}`, license, page].filter(Boolean).join(', ')
}

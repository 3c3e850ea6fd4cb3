import { InvalidRequest } from '../../core/errors.ts'
import { visibleText } from '../../core/visible-text.ts'
import type { JamRow } from './entities.ts'
import type { Category, Jam } from './schemas.ts'

type StateKey = 'title' | 'theme' | 'categories' | 'submissionsOpen' | 'votingOpen' | 'revealed' | 'deadline'

/** Returns the state of a jam that the audit log records. */
export const stateOf = ({
  title,
  theme,
  categories,
  submissionsOpen,
  votingOpen,
  revealed,
  deadline,
}: Pick<JamRow, StateKey>) => ({
  title,
  theme,
  submissionsOpen,
  votingOpen,
  revealed,
  deadline: deadline?.toISOString() ?? null,
  categories: JSON.stringify(categories),
})

/** Derives category ids from names. Of two with the same id the first is used. */
export function categoriesOf(names: readonly string[]): Category[] {
  const byId = new Map<string, Category>()
  for (const [index, name] of names.map(visibleText).entries()) {
    const plain = name.normalize('NFKD').toLowerCase().replace(/\p{M}/gu, '')
    const id =
      plain
        .replace(/[^a-z0-9]+/g, '-')
        .replace(/^-+|-+$/g, '')
        .slice(0, 32) || `category-${index + 1}`
    if (!byId.has(id)) byId.set(id, { id, name })
  }
  return [...byId.values()]
}

/** Reads a time of a request. @throws InvalidRequest for a time that matches the format but does not exist, such as a leap second */
export function instantOf(text: string | null): Date | null {
  if (text === null) return null
  const instant = new Date(text)
  if (Number.isNaN(instant.getTime()) || instant.getTime() < 0)
    throw new InvalidRequest('deadline: Use a time, such as 2026-11-21T12:00:00.000Z.')
  return instant
}

/** Returns the public form of a jam. */
export function toJam(row: JamRow | Omit<JamRow, never>): Jam {
  const { id, title, theme, categories, submissionsOpen, votingOpen, revealed } = row
  const [deadline, createdAt] = [row.deadline?.toISOString() ?? null, row.createdAt.toISOString()]
  return { id, title, theme, categories, submissionsOpen, votingOpen, revealed, deadline, createdAt }
}

import { createHash } from 'node:crypto'
import { html, type View } from '../../core/pages/index.ts'
import type { Jam } from './schemas.ts'

/** The name of the event stream and of the part that changes with each change by the organiser. */
export const CHANGES = 'jam-changes'

interface FollowJamProps {
  jam: Jam | null
  /** Whether the page loads again when the phase changes, since all of it depends on the phase. */
  whole?: boolean
  /** The ids of the games to vote for. */
  choices?: readonly string[]
}

/** Has a page follow the changes of the organiser (islands/jam-live.ts). Without scripts the viewer reloads the page. */
export const FollowJam = ({ jam, whole, choices = [] }: FollowJamProps): View => html`
  <i hidden data-events="/live/jam" data-part=${CHANGES}>${versionOf(jam)}</i>
  ${whole && html`<p class="jam-news" role="status" data-phase=${phaseOf(jam)} data-settings=${settingsOf(jam, choices)}></p>`}`

/** Returns a text that differs after each change by the organiser. Times don't tell: a clock may be set back. */
export const versionOf = (jam: Jam | null): string =>
  createHash('sha256').update(JSON.stringify(jam)).digest('base64url').slice(0, 16)

/** Returns the words that describe the phase: the id of the jam, then what is open or shown. */
function phaseOf(jam: Jam | null): string {
  if (!jam) return ''
  const { id, submissionsOpen, votingOpen, revealed } = jam
  return [id, submissionsOpen && 'submissions', votingOpen && 'voting', revealed > 0 && 'results']
    .filter((word) => word !== false)
    .join(' ')
}

const settingsOf = (jam: Jam | null, choices: readonly string[]): string =>
  JSON.stringify(jam && [jam.title, jam.theme, jam.categories, jam.votingOpen && choices.toSorted()])

import { type Content, html, Timestamp, type View } from '../../core/pages/index.ts'
import type { Jam } from './schemas.ts'
import { timeLeft } from './time-left.ts'

interface DeadlineProps {
  jam: Jam
  /** The time of the server, which is the one that counts. */
  now: Date
  /** Whether it is read from the back of a room. */
  large?: boolean
}

/**
 * Announces the end of submissions, with the time that is left. `islands/jam-live.ts` counts down by the clock of the
 * server, since those of the devices differ.
 */
export const Deadline = ({ jam, now, large }: DeadlineProps): View => html`
  <div class=${`stack jam-deadline${large ? ' large' : ''}`} data-live="deadline">${announcement(jam, now)}</div>`

function announcement({ deadline, submissionsOpen, votingOpen, revealed }: Jam, now: Date): Content {
  if (deadline === null || !submissionsOpen || votingOpen || revealed > 0) return null
  const left = Date.parse(deadline) - now.getTime()
  return left > 0
    ? html`<p><strong role="timer" data-left=${left}>${timeLeft(left)}</strong> left to submit, until <${Timestamp} at=${deadline} /></p>`
    : html`<p><strong>Time is up.</strong> Submissions ended <${Timestamp} at=${deadline} />. Late games can be submitted until the vote.</p>`
}

/** Whether a game was submitted after the announced end. */
export const isLate = ({ deadline }: Jam, submittedAt: string): boolean => deadline !== null && submittedAt > deadline

/** Returns an instant for an input of the type `datetime-local`, in UTC; nothing for none. */
export const fieldOf = (deadline: string | null): string => deadline?.slice(0, 16) ?? ''

/** Returns the instant that such an input has sent; null for an empty one. */
export const deadlineOf = (field: string): string | null => (field === '' ? null : `${field}:00.000Z`)

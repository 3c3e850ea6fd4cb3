import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { Forbidden } from '../../../core/errors.ts'
import { Session } from './entities.ts'

/** The maximum age of a session that may change how its player signs in, where no password is asked for. */
const FRESH_MS = 600_000

/**
 * Requires a recent sign-in before an action that could hand over the account and asks for no password, since somebody
 * may have left the session open.
 *
 * @throws Forbidden when the session began more than ten minutes ago
 */
export async function requireRecentSignIn(context: { db: Database; clock: Clock }, sessionId: string): Promise<void> {
  if (!(await isRecentSignIn(context, sessionId))) {
    throw new Forbidden('This needs a sign-in of the last ten minutes. Sign out and in again first.')
  }
}

/** Whether a session began within the last ten minutes. */
export async function isRecentSignIn(
  { db, clock }: { db: Database; clock: Clock },
  sessionId: string,
): Promise<boolean> {
  const session = await db.em().findOne(Session, { id: sessionId }, { fields: ['createdAt'] })
  return session !== null && session.createdAt.getTime() >= clock.now().getTime() - FRESH_MS
}

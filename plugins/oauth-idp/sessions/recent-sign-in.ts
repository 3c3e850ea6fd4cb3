import type { preHandlerAsyncHookHandler } from 'fastify'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { Forbidden } from '../../../core/errors.ts'
import { callerOf, type Principal } from '../../../core/http/auth.ts'
import { PlayerRow } from '../players/entities.ts'
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

/**
 * Whether the session of a caller began within the last ten minutes, or can't be begun again: a guest has only this
 * session, and nothing to sign in with.
 */
export async function isRecentCaller(
  context: { db: Database; clock: Clock },
  { credentialId, playerId }: Pick<Principal, 'credentialId' | 'playerId'>,
): Promise<boolean> {
  if (await isRecentSignIn(context, credentialId)) return true
  return (await context.db.em().count(PlayerRow, { id: playerId, guest: true })) > 0
}

/**
 * Returns the hook of a form that gives away more than a session which somebody may have left open should, such as all
 * data of the server. Without a sign-in of the last ten minutes it leads to one, and then back to the form.
 *
 * @param wayBack the path of the page with the form; `:id` stands for the parameter of that name
 */
export const recentSignInHook =
  (context: { db: Database; clock: Clock }, wayBack: string): preHandlerAsyncHookHandler =>
  async (request, reply) => {
    if (await isRecentCaller(context, callerOf(request))) return
    const parameters = request.params as Record<string, string>
    const returnTo = wayBack.replace(/:(\w+)/g, (_all, name) => encodeURIComponent(parameters[name] ?? ''))
    return reply.redirect(signInAgainPath(returnTo), 303)
  }

/** Returns the path of a sign-in for somebody who is signed in for too long. It leads back to `returnTo`. */
export const signInAgainPath = (returnTo: string): string =>
  `/sign-in?${new URLSearchParams({ prompt: 'login', returnTo })}`

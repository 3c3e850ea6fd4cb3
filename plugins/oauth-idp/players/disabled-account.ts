import type { Database } from '../../../core/data/database.ts'
import { AccountDisabled } from '../errors.ts'

interface DisabledAccountContext {
  db: Database
  /** Whom to write to (`portal.legal.contact`). */
  contact: string | null
}

/** Says in sentences that an account is disabled, with the reason of the staff and whom to write to, where there are any. */
export async function describeDisabled({ db, contact }: DisabledAccountContext, playerId: string): Promise<string> {
  const [row] = await db.query<{ reason: string | null }>(
    `select reason from audit where target_id = ? and action = 'player.disable' order by id desc limit 1`,
    [playerId],
  )
  const reason = row?.reason?.trim() ?? ''
  return [
    'This account is disabled.',
    ...(reason === '' ? [] : [`The reason: ${reason}${/[.!?]$/.test(reason) ? '' : '.'}`]),
    ...(contact === null ? [] : [`Questions go to ${contact}.`]),
  ].join(' ')
}

/** Returns the refusal of somebody who has proven that a disabled account is theirs. Nobody else gets it. */
export const disabledError = async (context: DisabledAccountContext, playerId: string): Promise<Error> =>
  new AccountDisabled(await describeDisabled(context, playerId))

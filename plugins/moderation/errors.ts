import { defineError } from '../../core/errors.ts'

export const OwnThing = defineError('own_thing', 409, 'This is your own. You can change or delete it yourself.')
export const NothingOpen = defineError(
  'nothing_open',
  409,
  'All reports about this are closed. Somebody else may have decided.',
)
export const OwnCase = defineError(
  'own_case',
  403,
  'This is about you or something of yours. Another moderator or an administrator decides.',
)
export const UndoneAlready = defineError('undone_already', 409, 'This decision was undone already.')
export const MessageSent = defineError('message_sent', 409, 'The message was sent already; it cannot be undone.')
export const ChangedSince = defineError('changed_since', 409, 'Somebody changed this since; look at it again.')
export const TargetGone = defineError('target_gone', 409, 'This was deleted meanwhile. Its reports can be dismissed.')

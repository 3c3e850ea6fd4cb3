import { defineError } from '../../core/errors.ts'

export const Suspended = defineError('suspended', 451, 'The administrators of this platform have suspended this game.')
export const OwnerOnly = defineError('owner_only', 403, 'Only the owner of this game may do this.')
export const OwnerChanged = defineError('owner_changed', 409, 'The owner of this game has just changed; try again.')
export const OwnerStays = defineError(
  'owner_stays',
  409,
  'The owner of a game stays in it. Transfer the game to another maker first, or delete it.',
)
export const TooManyMembers = defineError(
  'too_many_members',
  409,
  'A game has at most %s members as %s; remove one first.',
)
export const TooManyInvitations = defineError(
  'too_many_invitations',
  409,
  'This game has %s open invitations; take one back first.',
)
export const AlreadyMember = defineError('already_member', 409, '%s in this game already, as its %s.')
export const AlreadyInvited = defineError('already_invited', 409, '%s has an open invitation to this already.')
export const NoMail = defineError('no_mail', 409, '%s Create a link instead, and send it yourself.')
export const InvitationEnded = defineError('invitation_ended', 410, '%s Ask for a new one.')
export const InvitationOfAnother = defineError('invitation_of_another', 403, 'This invitation is for another player.')
export const NotAMaker = defineError(
  'not_a_maker',
  409,
  'A game goes only to one of its makers; make this player a maker first.',
)
export const MakerDisabled = defineError('maker_disabled', 409, 'The account of %s is disabled.')
export const TransferOpen = defineError(
  'transfer_open',
  409,
  'This game is offered to %s already; take that back first.',
)
export const OwnerActive = defineError(
  'owner_active',
  409,
  'The account of the owner is not disabled: the owner offers the game.',
)
export const NoTransfer = defineError(
  'no_transfer',
  404,
  'This game is not offered to anybody; the offer may have been taken back or declined.',
)
export const TransferEnded = defineError(
  'transfer_ended',
  410,
  'This offer was valid for a week; the owner can offer the game again.',
)
export const TransferOfAnother = defineError('transfer_of_another', 403, 'This game is offered to another maker.')
export const NotWaiting = defineError(
  'not_waiting',
  409,
  'This game waits for no approval; somebody has decided already.',
)
export const SuspendedMeanwhile = defineError(
  'suspended_game',
  409,
  'This game is suspended. Lift the suspension first, or enable the account of its owner.',
)
export const SlugTaken = defineError('slug_taken', 409, 'The address %s is taken; choose another.')
export const SlugReserved = defineError(
  'slug_reserved',
  409,
  'The address %s is reserved for the platform; choose another.',
)
export const TooManySlugs = defineError(
  'too_many_slugs',
  409,
  'This game has had %s addresses recently; wait until one of them is free again.',
)
export const TooManyReserved = defineError(
  'too_many_reserved_slugs',
  409,
  'Your former and deleted games had %s addresses in the last 90 days, which stay reserved; wait until one is free again.',
)
export const MediaRefused = defineError('media_refused', 415, '%s')
export const TooManyMedia = defineError('too_many_media', 409, 'A game has at most %s pictures and videos; remove one.')
export const UploadCut = defineError('upload_cut', 400, 'The upload ended before it was complete.')
export const MediaTooLarge = defineError('payload_too_large', 413, '%s')
export const NotBasedOnLive = defineError(
  'conflict',
  409,
  'Another deploy is live by now: %s. Read its files, and try again.',
)

import { defineError } from '../../core/errors.ts'

export const SubmissionsClosed = defineError('submissions_closed', 409, 'Submissions are closed.')
export const VotingClosed = defineError('voting_closed', 409, 'Voting is closed.')
export const OwnGame = defineError('own_game', 403, 'You cannot vote for your own game.')
export const NotPlayable = defineError('not_playable', 409, 'Publish a build first, and make the game public.')
export const CategoriesFixed = defineError(
  'categories_fixed',
  409,
  'These categories already have votes; start a new jam for other categories.',
)
export const EntriesFixed = defineError(
  'entries_fixed',
  409,
  'People vote or have voted on the games; ask the organiser to take yours out.',
)
export const EntryGone = defineError(
  'entry_gone',
  404,
  'This game takes no part in the jam; it may have been withdrawn.',
)
export const CategoryGone = defineError('category_gone', 404, 'The jam has no such category; load the jam again.')
export const JamOver = defineError('jam_over', 409, 'That jam has ended, and another one has begun.')
export const StillVoting = defineError('still_voting', 409, 'Close the voting before results are shown.')
export const ResultsShown = defineError('results_shown', 409, 'Hide the results before people vote again.')

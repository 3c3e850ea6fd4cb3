import { defineError } from '../../core/errors.ts'

export const RoomWritesOnly = defineError(
  'room_writes_only',
  403,
  'Only a room script of the game writes to this board.',
)
export const KeptOff = defineError('kept_off_board', 403, 'The owner of this game keeps you off this board.')
export const PreviewScores = defineError('not_in_previews', 403, 'Scores of a preview do not count.')
export const ScoreOutOfRange = defineError('score_out_of_range', 400, '%s')
export const DetailTooLarge = defineError(
  'payload_too_large',
  413,
  'The detail of a score is at most %s bytes of JSON.',
)
export const BoardNotFound = defineError(
  'not_found',
  404,
  'There is no such board. The owner of the game makes it: gameyard games boards set BOARD --title TITLE, or under Scores in its dashboard.',
)
export const BoardExists = defineError('board_exists', 409, 'There is a board %s already. Choose another id.')
export const TooManyBoards = defineError('too_many_boards', 409, 'A game has at most %s boards; remove one.')
export const BoardHasScores = defineError(
  'board_has_scores',
  409,
  'This board has scores, so its %s cannot change; remove the board to start over.',
)

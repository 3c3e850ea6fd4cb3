import Type, { type Static } from 'typebox'
import { VISIBLE_PATTERN } from '../../core/visible-text.ts'

export const BOARDS_PER_GAME = 50
export const DETAIL_BYTES = 1024
const MOST = Number.MAX_SAFE_INTEGER

const words = <Word extends string>(values: readonly Word[], options = {}) =>
  Type.Union(
    values.map((value) => Type.Literal(value)),
    options,
  ) as unknown as ReturnType<typeof Type.Unsafe<Word>>

export const BOARD_ID = '^[a-z0-9][a-z0-9_-]{0,39}$'
const BoardId = Type.String({
  pattern: BOARD_ID,
  advice: 'Use 1 to 40 of a-z, 0-9, _ and -, with a letter or digit first.',
  description: 'Chosen by you: 1 to 40 of a-z, 0-9, _ and -.',
})
const Bound = (description: string) =>
  Type.Union([Type.Number({ minimum: -MOST, maximum: MOST }), Type.Null()], { description })

/** What the owner chooses, without the id. */
const fields = {
  title: Type.String({ minLength: 1, maxLength: 120, pattern: VISIBLE_PATTERN }),
  order: words(['desc', 'asc'], { description: 'desc: the highest score is best. asc: the lowest.' }),
  format: words(['number', 'milliseconds', 'seconds'], { description: 'How scores are shown. Times are durations.' }),
  decimals: Type.Integer({ minimum: 0, maximum: 6, description: 'How many decimals a score keeps.' }),
  keep: words(['best', 'last', 'sum'], { description: "Which of a player's scores counts." }),
  reset: words(['never', 'daily', 'weekly', 'monthly'], {
    description: 'When the board resets, in UTC: at 00:00, on Monday, on the first day.',
  }),
  min: Bound('The least score that is accepted; null: any.'),
  max: Bound('The greatest score that is accepted; null: any.'),
  writers: words(['players', 'room'], {
    description: 'players: the browsers of players submit scores. room: only a room script of the game does.',
  }),
}
export const BoardFields = Type.Object(fields)
export type BoardFields = Static<typeof BoardFields>

/** The fields that are used where none are given. */
export const BOARD_DEFAULTS: Omit<BoardFields, 'title'> = {
  order: 'desc',
  format: 'number',
  decimals: 0,
  keep: 'best',
  reset: 'never',
  min: null,
  max: null,
  writers: 'players',
}

const { title: _title, ...choices } = fields
export const BoardInput = Type.Object({ title: fields.title, ...Type.Partial(Type.Object(choices)).properties })
export type BoardInput = Static<typeof BoardInput>

/** A board in the form of the API. */
export const Board = Type.Object(
  {
    id: BoardId,
    ...fields,
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
  },
  { title: 'Board' },
)
export type Board = Static<typeof Board>
export const PutBoard = Type.Object({
  ...Board.properties,
  warning: Type.Union([Type.String(), Type.Null()], {
    description: 'Why no score will arrive, such as `writers: room` in a game without a room script.',
  }),
})
export const BoardList = Type.Object({ boards: Type.Array(Board) })

/** A board without what only its owner needs. */
export const PublicBoard = Type.Object({
  id: Type.String(),
  title: fields.title,
  order: fields.order,
  format: fields.format,
  decimals: fields.decimals,
  reset: fields.reset,
})
export type PublicBoard = Static<typeof PublicBoard>

const GameId = Type.String({ maxLength: 63, description: "The game's id or slug." })
const PlayerId = Type.String({ maxLength: 30, description: "The player's id." })
export const GameParams = Type.Object({ id: GameId })
// A wrong id is a board that does not exist, except where one is made.
const AnyBoardId = Type.String({ maxLength: 100, description: "The board's id." })
export const BoardParams = Type.Object({ id: GameId, boardId: AnyBoardId })
export const NewBoardParams = Type.Object({ id: GameId, boardId: BoardId })
export const EntryParams = Type.Object({ id: GameId, boardId: AnyBoardId, playerId: PlayerId })

export const PERIODS = ['current', 'previous', 'all'] as const
export type PeriodName = (typeof PERIODS)[number]
const Period = words(PERIODS, { default: 'current', description: 'Of a board that resets; all: of all time.' })

const paging = {
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Entries a page.' }),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`nextCursor` of the page before.' })),
  period: Period,
}
export const ScoresQuery = Type.Object(paging)
export type ScoresQuery = Static<typeof ScoresQuery>
export const GameScoresQuery = Type.Object({
  ...paging,
  around: Type.Optional(
    Type.Literal('me', { description: 'The entries around your own; without one, the first entries.' }),
  ),
})
export type GameScoresQuery = Static<typeof GameScoresQuery>

const NullableInstant = Type.Union([Type.String({ format: 'date-time' }), Type.Null()])
const PeriodEnd = Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
  description: 'When the board resets; null: never.',
})

export const Entry = Type.Object({
  rank: Type.Integer({ description: 'Equal scores share a rank; the earlier is listed first.' }),
  player: Type.Object({
    sub: Type.String({ description: "The player's id." }),
    name: Type.String(),
    imageUrl: Type.Union([Type.String(), Type.Null()]),
  }),
  score: Type.Number(),
  detail: Type.Unknown({ description: 'What the game sent with the score, or null.' }),
  at: Type.String({ format: 'date-time' }),
  me: Type.Boolean(),
})
export type Entry = Static<typeof Entry>

export const ScoreList = Type.Object({
  board: PublicBoard,
  entries: Type.Array(Entry),
  total: Type.Integer(),
  me: Type.Union([Entry, Type.Null()], { description: 'Your own entry, if you are signed in and have one.' }),
  periodEndsAt: NullableInstant,
  nextCursor: Type.Union([Type.String(), Type.Null()]),
})
export type ScoreList = Static<typeof ScoreList>

export const NewScore = Type.Object({
  score: Type.Number({ minimum: -MOST, maximum: MOST }),
  detail: Type.Optional(
    Type.Unknown({ description: `Any JSON of at most ${DETAIL_BYTES} bytes, shown with the score.` }),
  ),
  submissionId: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]{16,64}$',
      advice: 'Use 16 to 64 of A-Z, a-z, 0-9, _ and -.',
      description: 'A random id. Sent again by the same player within 7 days, the submission counts once.',
    }),
  ),
})

export const SubmittedScore = Type.Object({
  score: Type.Number({ description: 'As it was stored.' }),
  best: Type.Number({ description: 'What counts for you now, in this period.' }),
  rank: Type.Integer(),
  total: Type.Integer({ description: 'How many players are on the board, in this period.' }),
  improved: Type.Boolean({ description: 'Whether what counts for you became better.' }),
  periodEndsAt: PeriodEnd,
})
export type SubmittedScore = Static<typeof SubmittedScore>

export const Excluded = Type.Object({
  players: Type.Array(
    Type.Object({ sub: Type.String(), name: Type.String(), at: Type.String({ format: 'date-time' }) }),
  ),
})
export type Excluded = Static<typeof Excluded>

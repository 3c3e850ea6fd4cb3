import Type, { type Static } from 'typebox'
import { VISIBLE_PATTERN } from '../../core/visible-text.ts'

const Title = Type.String({
  minLength: 1,
  maxLength: 120,
  pattern: VISIBLE_PATTERN,
  description: 'The title of the jam.',
})
const Theme = Type.String({ maxLength: 200, description: 'The subject of its games; may be empty.' })
const Deadline = Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
  description:
    'The announced end of submissions, by the clock of the server; null: none. Later games are marked as late, and submissions stay open until an administrator closes them, or opens voting after it.',
})
const CategoryNames = Type.Array(Type.String({ minLength: 1, maxLength: 60, pattern: VISIBLE_PATTERN }), {
  minItems: 1,
  maxItems: 8,
  description: 'Categories to vote in, such as Fun and Looks. Each player has one vote in each.',
})

export const Category = Type.Object({ id: Type.String(), name: Type.String() })
export type Category = Static<typeof Category>

export const NewJam = Type.Object({
  title: Title,
  theme: Type.Optional(Theme),
  categories: Type.Optional(CategoryNames),
  deadline: Type.Optional(Deadline),
})
export type NewJam = Static<typeof NewJam>

export const JamChanges = Type.Partial(
  Type.Object({
    title: Title,
    theme: Theme,
    categories: CategoryNames,
    deadline: Deadline,
    submissionsOpen: Type.Boolean({ description: 'Whether makers may submit and withdraw games.' }),
    votingOpen: Type.Boolean({ description: 'Whether players may vote; results are hidden meanwhile.' }),
    revealed: Type.Integer({
      minimum: 0,
      description: 'How many steps of the results are shown, of `steps` in the results; 0 hides them.',
    }),
  }),
  { additionalProperties: false, minProperties: 1 },
)
export type JamChanges = Static<typeof JamChanges>

/** A participating game in its public form. */
export const JamGame = Type.Object({
  gameId: Type.String(),
  slug: Type.String(),
  title: Type.String(),
  coverUrl: Type.Union([Type.String(), Type.Null()]),
  playUrl: Type.String(),
  by: Type.String({ description: 'The name of its maker.' }),
})
export type JamGame = Static<typeof JamGame>

export const JamEntry = Type.Object({
  ...JamGame.properties,
  players: Type.Integer({ description: 'How many are in its rooms now.' }),
  submittedAt: Type.String({ format: 'date-time' }),
})
export type JamEntry = Static<typeof JamEntry>

export const Votes = Type.Record(Type.String(), Type.String(), {
  description: 'The id of the game that you chose, by category.',
})
export type Votes = Static<typeof Votes>

export const Jam = Type.Object({
  id: Type.String(),
  title: Type.String(),
  theme: Type.String(),
  categories: Type.Array(Category),
  submissionsOpen: Type.Boolean(),
  votingOpen: Type.Boolean(),
  revealed: Type.Integer(),
  deadline: Deadline,
  createdAt: Type.String({ format: 'date-time' }),
})
export type Jam = Static<typeof Jam>

/** A jam before the current one. */
export interface FormerJam extends Jam {
  /** The number of games that took part. */
  games: number
}

export const JamAnswer = Type.Object({
  ...Jam.properties,
  entries: Type.Array(JamEntry),
  voters: Type.Integer({ description: 'How many have voted.' }),
  votes: Type.Optional(Votes),
})

export const Place = Type.Object({
  rank: Type.Integer({ description: 'Games with equal votes share a place.' }),
  votes: Type.Integer(),
  games: Type.Array(JamGame),
})
export type Place = Static<typeof Place>

export const CategoryResult = Type.Object({
  ...Category.properties,
  places: Type.Array(Place, { description: 'Those that are revealed, the best first.' }),
  complete: Type.Boolean({ description: 'Whether all of its places are revealed.' }),
})
export type CategoryResult = Static<typeof CategoryResult>

export const Results = Type.Object({
  title: Type.String(),
  revealed: Type.Integer(),
  steps: Type.Integer({ description: 'How many steps there are in all.' }),
  voters: Type.Integer(),
  categories: Type.Array(CategoryResult),
})
export type Results = Static<typeof Results>

export const GameChoice = Type.Object({ gameId: Type.String({ maxLength: 63, description: 'Id or slug of a game.' }) })

import Type, { type Static } from 'typebox'

const nullable = <T extends Type.TSchema>(type: T, description?: string) =>
  Type.Union([type, Type.Null()], description === undefined ? {} : { description })

/** The largest number of different errors in one report. */
const MOST_IN_REPORT = 10
const LONGEST = { message: 500, path: 500, stack: 2000 }
/** The largest number of a line or column, and of occurrences. */
const FURTHEST = 1e9
const MOST_OCCURRENCES = 10_000
const DAY_MS = 86_400_000

/** The largest body of a report: ten errors in characters of three bytes. */
export const REPORT_BYTES = 96 * 1024

const Reported = Type.Object({
  message: Type.String({ minLength: 1, maxLength: LONGEST.message }),
  path: nullable(
    Type.String({ maxLength: LONGEST.path }),
    'The path in the build, or the address of a script elsewhere.',
  ),
  line: nullable(Type.Integer({ minimum: 1, maximum: FURTHEST })),
  column: nullable(Type.Integer({ minimum: 1, maximum: FURTHEST })),
  stack: nullable(Type.String({ maxLength: LONGEST.stack })),
  count: Type.Integer({ minimum: 1, maximum: MOST_OCCURRENCES, description: 'Occurrences since the last report.' }),
})
export type Reported = Static<typeof Reported>

export const Report = Type.Object({
  errors: Type.Array(Reported, { minItems: 1, maxItems: MOST_IN_REPORT }),
  age: Type.Integer({ minimum: 0, maximum: 365 * DAY_MS, description: 'How long ago the page was loaded, in ms.' }),
})

export const GameError = Type.Object({
  id: Type.String(),
  message: Type.String(),
  path: nullable(Type.String(), 'The path in the build, or the address of a script elsewhere. null: unknown.'),
  line: nullable(Type.Integer(), 'From 1.'),
  column: nullable(Type.Integer(), 'From 1.'),
  source: nullable(
    Type.Object({
      path: Type.String(),
      line: Type.Integer(),
      column: Type.Integer(),
      excerpt: nullable(
        Type.Object({
          from: Type.Integer({ description: 'The number of the first line.' }),
          lines: Type.Array(Type.String()),
        }),
        'The lines around it, if the map has them.',
      ),
    }),
    'The place in the file that was bundled, by the source map beside the script in the build (`main.js.map`). null: there is none.',
  ),
  stack: nullable(Type.String()),
  deployId: nullable(
    Type.String(),
    'The deploy whose page threw, which may be a preview. null: one before the version that was live then.',
  ),
  browser: Type.String({ description: 'Browser and system of the last occurrence.' }),
  count: Type.Integer({ description: 'Occurrences in the pages of all players.' }),
  firstAt: Type.String({ format: 'date-time' }),
  lastAt: Type.String({ format: 'date-time' }),
})
export type GameError = Static<typeof GameError>

export const GameErrorList = Type.Object({
  errors: Type.Array(GameError, { description: 'At most 100, the latest first.' }),
})

export const GameParams = Type.Object({ id: Type.String({ maxLength: 63, description: "The game's id or slug." }) })

import Type, { type Static } from 'typebox'
import { PageQuery, pageOf } from '../../../core/http/pagination.ts'

const Place = (description: string) => Type.Union([Type.Integer(), Type.Null()], { description })

export const LogLine = Type.Object({
  id: Type.String(),
  at: Type.String({ format: 'date-time' }),
  level: Type.Union([Type.Literal('log'), Type.Literal('error'), Type.Literal('fatal')], {
    description: '`error`: an exception. `fatal`: what ended the room.',
  }),
  roomId: Type.String(),
  deployId: Type.String({ description: 'The deploy whose script the room runs.' }),
  text: Type.String(),
  line: Place('The line in the room script, from 1.'),
  column: Place('The column in that line, from 1.'),
  stack: Type.Union([Type.String(), Type.Null()], { description: 'With lines of the room script.' }),
  source: Type.Union(
    [Type.Object({ path: Type.String(), line: Type.Integer(), column: Type.Integer() }), Type.Null()],
    {
      description:
        'The place in the file as its maker wrote it, by the source map at the end of the room script, or else in the script itself. null: no exception, or the deploy is gone.',
    },
  ),
})
export type LogLine = Static<typeof LogLine>

export const LogList = pageOf('lines', LogLine)

export const LogQuery = Type.Object({
  ...PageQuery.properties,
  follow: Type.Boolean({
    default: false,
    description:
      'Stream server-sent events: `lines` with `{ "lines": [...] }`, first the newest `limit` lines and then every further one, the oldest first. A stream ends after two minutes; connect again, and skip the ids that you have.',
  }),
})
export const LogParams = Type.Object({ id: Type.String({ maxLength: 63, description: "The game's id or slug." }) })

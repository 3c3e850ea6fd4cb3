import Type, { type Static } from 'typebox'
import { PageQuery, pageOf } from '../../../core/http/pagination.ts'
import { Person } from '../members/schemas.ts'

const Text = Type.Union([Type.String(), Type.Null()])

export const ActivityEntry = Type.Object({
  id: Type.String(),
  at: Type.String({ format: 'date-time' }),
  action: Type.String({ description: 'Noun and verb, such as `deploy.rollback`.' }),
  target: Type.Union([Type.String(), Type.Null()], {
    description: 'The id of the deploy, board, picture, asset or job, or the name of the domain.',
  }),
  detail: Type.Union([Type.String(), Type.Null()], { description: 'What changed, in a few words.' }),
  by: Type.Object({
    kind: Type.Union(
      [
        Type.Literal('person'),
        Type.Literal('token'),
        Type.Literal('assistant'),
        Type.Literal('staff'),
        Type.Literal('platform'),
      ],
      { description: '`person`: in a browser. `assistant`: connected with OAuth. `platform`: by itself.' },
    ),
    playerId: Text,
    player: Type.Union([Person, Type.Null()], {
      description: 'The player, or whose token or assistant it was; null for others, and after the end of the account.',
    }),
    name: Type.Union([Type.String(), Type.Null()], {
      description: 'Of the player; of a token or an assistant the name that it had then.',
    }),
    tool: Type.Union([Type.String(), Type.Null()], { description: 'The tool that an assistant called.' }),
  }),
})
export type ActivityEntry = Static<typeof ActivityEntry>

export const ActivityQuery = PageQuery
export const ActivityList = pageOf('activity', ActivityEntry)

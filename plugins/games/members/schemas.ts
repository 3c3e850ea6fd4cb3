import Type, { type Static } from 'typebox'
import { PageQuery, pageOf } from '../../../core/http/pagination.ts'

const Role = Type.Union([Type.Literal('maker'), Type.Literal('tester')], {
  description: 'A maker deploys and changes the game. A tester sees it while it is private, and its previews.',
})

export const Person = Type.Object({
  id: Type.String(),
  name: Type.String(),
  imageUrl: Type.String(),
})
export type Person = Static<typeof Person>

/** A player who can be invited. */
export const FoundPlayer = Type.Object({
  ...Person.properties,
  role: Type.Union([Type.Literal('owner'), Type.Literal('maker'), Type.Literal('tester'), Type.Null()], {
    description: 'What the player is in the game already.',
  }),
})
export type FoundPlayer = Static<typeof FoundPlayer>
export const PlayersQuery = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 240, description: 'The beginning of the name.' }),
})
/** At most 10, so the list has no pages. */
export const FoundPlayers = Type.Object({ players: Type.Array(FoundPlayer) })

export const Member = Type.Object({
  player: Person,
  role: Type.Union([Type.Literal('owner'), Type.Literal('maker'), Type.Literal('tester')]),
  since: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'null: invited before this was recorded.',
  }),
})
export type Member = Static<typeof Member>

/** At most 221: the owner, 20 makers and 200 testers, so the list has no pages. */
export const MemberList = Type.Object({ members: Type.Array(Member) })

export const MemberParams = Type.Object({
  id: Type.String({ maxLength: 63, description: "The game's id or slug." }),
  playerId: Type.String({ maxLength: 30 }),
})
export const MemberChanges = Type.Object({ role: Role }, { additionalProperties: false })

export const NewInvitation = Type.Object(
  {
    role: Role,
    playerId: Type.Optional(
      Type.String({
        maxLength: 30,
        description: 'The only player who can accept it. Without this and `email`: a link for 20 players.',
      }),
    ),
    email: Type.Optional(
      Type.String({
        maxLength: 254,
        description: 'Where to send a link for one player: the first who opens it, with whatever address.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type NewInvitation = Static<typeof NewInvitation>

export const Invitation = Type.Object({
  id: Type.String(),
  url: Type.String({ description: 'A signed-in player who opens it can accept.' }),
  role: Role,
  player: Type.Union([Person, Type.Null()], { description: 'null: it is a link.' }),
  email: Type.Union([Type.String(), Type.Null()], { description: 'Where its link was sent.' }),
  usesLeft: Type.Integer({ description: 'How many players can still accept it.' }),
  createdAt: Type.String({ format: 'date-time' }),
  expiresAt: Type.String({ format: 'date-time' }),
})
export type Invitation = Static<typeof Invitation>
export const InvitationList = pageOf('invitations', Invitation)
export const InvitationsQuery = PageQuery
export const InvitationParams = Type.Object({
  id: Type.String({ maxLength: 63, description: "The game's id or slug." }),
  invitationId: Type.String({ maxLength: 30 }),
})

export const NewTransfer = Type.Object(
  { playerId: Type.String({ maxLength: 30, description: 'One of the makers of the game.' }) },
  { additionalProperties: false },
)

export const Transfer = Type.Object({
  from: Person,
  to: Person,
  counts: Type.Object(
    { games: Type.Integer(), storedBytes: Type.Integer() },
    {
      description:
        'What counts for the new owner from then on, within the quotas of that player; the bytes as they were at the offer.',
    },
  ),
  createdAt: Type.String({ format: 'date-time' }),
  expiresAt: Type.String({ format: 'date-time' }),
})
export type Transfer = Static<typeof Transfer>

import Type, { type Static } from 'typebox'

/** A player in the form for the player and other plugins (contracts, section 3). */
export const Player = Type.Object({
  id: Type.String(),
  email: Type.Union([Type.String(), Type.Null()], { description: 'Null for guests.' }),
  emailVerified: Type.Boolean(),
  name: Type.String(),
  imageUrl: Type.String({ description: 'Always a picture: the uploaded one, or one that is drawn.' }),
  isGuest: Type.Boolean(),
  isAdmin: Type.Boolean(),
  role: Type.Union([Type.Literal('player'), Type.Literal('moderator'), Type.Literal('admin')], {
    description: 'A moderator works the queue of reports; an administrator looks after the server.',
  }),
  createdAt: Type.String({ format: 'date-time' }),
})
export type Player = Static<typeof Player>

const Credentials = {
  email: Type.String({ maxLength: 320, description: 'Email address.' }),
  password: Type.String({ maxLength: 1024, description: '10 to 256 characters.' }),
}
export const SignInBody = Type.Object(Credentials)
export const SignUpBody = Type.Object({ ...Credentials, name: Type.String({ maxLength: 200 }) })
export const GuestBody = Type.Object({
  name: Type.String({ maxLength: 200, description: 'The name that other players see.' }),
})
export const Pending = Type.Object({
  pending: Type.Literal(true, { description: 'A message with a link was sent to the address.' }),
})
export const SignedInPlayer = Type.Object({ user: Player })
export const SessionState = Type.Object({ signedIn: Type.Boolean(), user: Type.Optional(Player) })

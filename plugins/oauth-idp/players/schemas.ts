import Type, { type Static } from 'typebox'

/** A player as the player and other plugins see it (contracts, section 3). */
export const Player = Type.Object({
  id: Type.String(),
  email: Type.String(),
  name: Type.String(),
  imageUrl: Type.Union([Type.String(), Type.Null()]),
  isAdmin: Type.Boolean(),
  createdAt: Type.String({ format: 'date-time' }),
})
export type Player = Static<typeof Player>

const Credentials = {
  email: Type.String({ maxLength: 320, description: 'Email address.' }),
  password: Type.String({ maxLength: 1024, description: '10 to 256 characters.' }),
}
export const SignInBody = Type.Object(Credentials)
export const SignUpBody = Type.Object({ ...Credentials, name: Type.String({ maxLength: 200 }) })
export const SignedInPlayer = Type.Object({ user: Player })
export const SessionState = Type.Object({ signedIn: Type.Boolean(), user: Type.Optional(Player) })

import Type, { type Static } from 'typebox'

/** A player in the form for the player and other plugins. */
export const Player = Type.Object(
  {
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
  },
  { title: 'Player' },
)
export type Player = Static<typeof Player>

const Credentials = {
  email: Type.String({ maxLength: 320, description: 'Email address.' }),
  password: Type.String({ maxLength: 1024, description: '10 to 256 characters.' }),
}
export const SignInBody = Type.Object(Credentials)
const Work = Type.Optional(
  Type.String({
    maxLength: 2000,
    description:
      'With `auth.signUpChallenge: work`: the `token` of a challenge, a dot, and the answer. See `GET /api/auth/sign-up/challenge`.',
  }),
)

export const Challenge = Type.Object({
  algorithm: Type.Literal('PBKDF2-SHA-256'),
  salt: Type.String({ description: 'base64url' }),
  target: Type.String({ description: 'base64url, 32 bytes' }),
  iterations: Type.Integer(),
  answers: Type.Integer({ description: 'The answer is a whole number from 0 to below this.' }),
  expiresAt: Type.String({ format: 'date-time' }),
  token: Type.String(),
})
export type Challenge = Static<typeof Challenge>

export const ChallengeOrNull = Type.Object({
  challenge: Type.Union([Challenge, Type.Null()], { description: 'Null: a new account needs no proof of work.' }),
})

export const SignUpBody = Type.Object({
  ...Credentials,
  name: Type.String({ maxLength: 200 }),
  work: Work,
  returnTo: Type.Optional(
    Type.String({
      maxLength: 4096,
      description: 'The path of the portal to which a mailed link leads on, such as that of a sign-in under way.',
    }),
  ),
})
export const GuestBody = Type.Object({
  name: Type.String({ maxLength: 200, description: 'The name that other players see.' }),
  work: Work,
})
export const Pending = Type.Object({
  pending: Type.Literal(true, { description: 'A message with a link was sent to the address.' }),
})
export const SignedInPlayer = Type.Object({ user: Player })
export const SessionState = Type.Object({ signedIn: Type.Boolean(), user: Type.Optional(Player) })

import Type, { type Static } from 'typebox'
import { Section } from '../../core/config.ts'

export const AuthConfig = Section(
  {
    signUp: Type.Union([Type.Literal('open'), Type.Literal('closed')], {
      default: 'open',
      description: 'open: anyone can make an account. closed: only `gameyard admin create` does.',
    }),
    passwordMinLength: Type.Integer({
      default: 10,
      minimum: 8,
      maximum: 256,
      description: 'Shortest password, in characters.',
    }),
    skipConsentForHostedGames: Type.Boolean({
      default: true,
      description: 'Games hosted here learn the name and picture of players who sign in without asking them first.',
    }),
  },
  { description: 'Sign-in and accounts.', default: {} },
)
export type AuthConfig = Static<typeof AuthConfig>

export const authLimits = {
  signInAttemptsPerMinute: Type.Integer({
    default: 10,
    minimum: 1,
    description: 'Sign-in attempts a minute for an account from an address.',
  }),
  tokenRequestsPerMinute: Type.Integer({
    default: 60,
    minimum: 1,
    description: 'Requests a minute of one OAuth application to the token endpoint.',
  }),
}
export type AuthLimits = { [Name in keyof typeof authLimits]: number }

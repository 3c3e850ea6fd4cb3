import Type, { type Static } from 'typebox'
import { Secret, Section } from '../../core/config.ts'

const ProviderConfig = Section(
  {
    clientId: Type.String({ minLength: 1, description: 'As the provider gave it.' }),
    clientSecret: Secret({ minLength: 1, description: 'As the provider gave it.' }),
    issuer: Type.Optional(
      Type.String({
        pattern: '^https?://[^/?#\\s][^?#\\s]*$',
        description: 'Of any OpenID Connect provider beside github, google and discord.',
        examples: ['https://login.example.org'],
      }),
    ),
    label: Type.Optional(Type.String({ minLength: 1, maxLength: 40, description: 'The label of the button.' })),
    scope: Type.Optional(Type.Array(Type.String(), { description: 'Other scopes than the usual ones.' })),
  },
  { description: 'Register <portal>/sign-in/with/<its name here>/callback as redirect URI there.' },
)
export type ProviderConfig = Static<typeof ProviderConfig>

export const AuthConfig = Section(
  {
    signUp: Type.Union([Type.Literal('open'), Type.Literal('invite'), Type.Literal('closed')], {
      default: 'open',
      description:
        'open: anyone can make an account. invite: only by a link from an administrator. closed: only `gameyard admin create` does.',
    }),
    guests: Type.Boolean({
      default: false,
      description: 'Whether guests can play with a name only, for jams. They can turn it into an account later.',
    }),
    verifyEmail: Type.Boolean({
      default: false,
      description: 'A new account must be confirmed with a mailed link. Needs a mail driver that sends.',
    }),
    signUpChallenge: Type.Union([Type.Literal('none'), Type.Literal('work')], {
      default: 'none',
      description:
        'work: the browser of a new account or guest computes for a second, which makes accounts in bulk costly. Needs https, or localhost.',
    }),
    blockedEmailDomains: Type.Array(Type.String({ minLength: 1, maxLength: 253, pattern: '^[^@\\s*./][^@\\s*/]*$' }), {
      default: [],
      examples: [['mailinator.com']],
      description: 'Domains whose addresses no new account may have, with their subdomains.',
    }),
    passwordMinLength: Type.Integer({
      default: 10,
      minimum: 8,
      maximum: 256,
      description: 'Shortest password, in characters.',
    }),
    passwordHashing: Section(
      {
        memory: Type.Integer({ default: 19_456, minimum: 8, maximum: 4_194_304, description: 'In KiB.' }),
        passes: Type.Integer({
          default: 2,
          minimum: 1,
          maximum: 100,
          description: 'Number of passes over the memory.',
        }),
      },
      {
        description:
          'The cost of a password hash (Argon2id). The default is the recommendation of OWASP, about 45 ms. After a change, the next sign-in of a player renews the hash.',
        default: {},
      },
    ),
    providers: Type.Record(Type.String({ pattern: '^[a-z][a-z0-9-]{0,38}$' }), ProviderConfig, {
      default: {},
      description: 'Accounts elsewhere that sign in here: github, google, discord, and any other name with its issuer.',
    }),
  },
  { description: 'Sign-in and accounts.', default: {} },
)
export type AuthConfig = Static<typeof AuthConfig>

export const OAuthConfig = Section(
  {
    skipConsentForHostedGames: Type.Boolean({
      default: true,
      description:
        'Hosted games get the name and picture of players who sign in without asking them first, at their own addresses.',
    }),
    registration: Type.Union([Type.Literal('open'), Type.Literal('off')], {
      default: 'open',
      description:
        'open: coding assistants register themselves, and ask a player before they do anything. off: they use API tokens.',
    }),
    refreshLeewaySeconds: Type.Integer({
      default: 10,
      minimum: 0,
      maximum: 60,
      description:
        'A refresh token that is used again within so many seconds gets the same successor: an answer was lost, or two tabs asked at once. Later it counts as stolen.',
    }),
  },
  { description: 'Sign-in to games.', default: {} },
)
export type OAuthConfig = Static<typeof OAuthConfig>

export const authLimits = {
  applicationsPerPlayer: Type.Integer({
    default: 100,
    minimum: 1,
    description: 'OAuth applications of one player, without those of games that are hosted here.',
  }),
  signInAttemptsPerMinute: Type.Integer({
    default: 10,
    minimum: 1,
    description: 'Sign-in attempts a minute for an account from an address.',
  }),
  signUpsPerMinute: Type.Integer({
    default: 30,
    minimum: 1,
    description: 'New accounts and guests a minute from an address.',
  }),
  linksPerHour: Type.Integer({
    default: 5,
    minimum: 1,
    description: 'Messages with a link an hour to one email address; three times as many from one network address.',
  }),
  tokenRequestsPerMinute: Type.Integer({
    default: 60,
    minimum: 1,
    description: 'Requests a minute of one OAuth application to the token endpoint.',
  }),
  registrationsPerHour: Type.Integer({
    default: 10,
    minimum: 1,
    description: 'OAuth clients an hour that register themselves from one address.',
  }),
  deviceCodeAttemptsPerMinute: Type.Integer({
    default: 10,
    minimum: 1,
    description: 'Codes of devices that a player may enter a minute; five times as many from one address.',
  }),
}
export type AuthLimits = { [Name in keyof typeof authLimits]: number }

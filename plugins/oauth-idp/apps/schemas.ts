import Type, { type Static } from 'typebox'
import { pageOf } from '../../../core/http/pagination.ts'
import { VISIBLE_PATTERN } from '../../../core/visible-text.ts'

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])

const Algorithm = (description: string) => Type.Union([Type.Literal('RS256'), Type.Literal('ES256')], { description })

/** An OAuth application. */
const fields = {
  id: Type.String(),
  clientId: Type.String(),
  name: Type.String(),
  homepageUrl: Nullable(Type.String()),
  gameId: Nullable(Type.String()),
  redirectUris: Type.Array(Type.String()),
  idTokenSignedResponseAlg: Algorithm('How its id tokens are signed.'),
  public: Type.Boolean({ description: 'Has no secret and must use PKCE: native and browser applications.' }),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
  lastUsedAt: Nullable(Type.String({ format: 'date-time' })),
}
export const App = Type.Object(fields, { title: 'OAuthApplication' })
export type App = Static<typeof App>

export const AppWithSecret = Type.Object({
  ...fields,
  clientSecret: Nullable(Type.String({ description: 'Shown this once; null for a public application.' })),
})
export type AppWithSecret = Static<typeof AppWithSecret>

export const AppList = pageOf('apps', App)

const name = Type.String({ minLength: 1, maxLength: 120, pattern: VISIBLE_PATTERN })
const homepageUrl = Nullable(
  Type.String({
    maxLength: 2000,
    pattern: '^https?://[^\\s]+$',
    advice: 'Enter a whole web address, such as https://game.example.org.',
  }),
)
const gameId = Nullable(Type.String({ maxLength: 40 }))
const idTokenSignedResponseAlg = Algorithm(
  'How its id tokens are signed; ES256 by default. Some libraries know RS256 only.',
)
const redirectUris = Type.Array(Type.String({ maxLength: 2000 }), { minItems: 1, maxItems: 20 })

export const CreateAppBody = Type.Object({
  name,
  homepageUrl: Type.Optional(homepageUrl),
  gameId: Type.Optional(gameId),
  redirectUris,
  idTokenSignedResponseAlg: Type.Optional(idTokenSignedResponseAlg),
  public: Type.Optional(Type.Boolean()),
})
export const UpdateAppBody = Type.Object({
  name: Type.Optional(name),
  homepageUrl: Type.Optional(homepageUrl),
  gameId: Type.Optional(gameId),
  redirectUris: Type.Optional(redirectUris),
  idTokenSignedResponseAlg: Type.Optional(idTokenSignedResponseAlg),
})
export type AppUpdate = Static<typeof UpdateAppBody>

export const SignInQuery = Type.Object({
  from: Type.Optional(Type.String({ format: 'date', description: 'UTC; default: 29 days before `to`.' })),
  to: Type.Optional(Type.String({ format: 'date', description: 'UTC, included; default: today.' })),
})

export const SignInAnalytics = Type.Object({
  signIns: Type.Array(
    Type.Object({ date: Type.String({ format: 'date' }), count: Type.Integer(), uniquePlayers: Type.Integer() }),
  ),
  total: Type.Integer({ description: 'Sign-ins of all these days.' }),
})

export const AppParams = Type.Object({ id: Type.String() })

import Type, { type Static } from 'typebox'
import { pageOf } from '../../core/http/pagination.ts'
import { ALL_SCOPES, type Scope } from './scopes.ts'

const Time = Type.String({ format: 'date-time' })
const NullableTime = Type.Union([Time, Type.Null()])

const fields = {
  id: Type.String(),
  label: Type.String(),
  kind: Type.Union([Type.Literal('api'), Type.Literal('cli')]),
  prefix: Type.String({ description: 'The first characters, to know it again by.' }),
  scopes: Type.Array(Type.String()),
  createdAt: Time,
  lastUsedAt: NullableTime,
  expiresAt: NullableTime,
}
/** A token in the form for its owner (specification, "API token"). */
export const Token = Type.Object(fields, { title: 'Token' })
export type Token = Static<typeof Token>

export const CreatedToken = Type.Object({
  ...fields,
  token: Type.String({ description: 'The token itself, shown this once.' }),
})
export type CreatedToken = Static<typeof CreatedToken>

export const TokenList = pageOf('tokens', Token)

/** The lifetimes of tokens in days; null is unlimited. */
export const EXPIRIES = [30, 90, 365, null] as const
export type Expiry = (typeof EXPIRIES)[number]
export const DEFAULT_EXPIRY = 90

export const CreateTokenBody = Type.Object({
  label: Type.String({ minLength: 1, maxLength: 80 }),
  scopes: Type.Array(Type.Unsafe<Scope>({ type: 'string', enum: ALL_SCOPES }), { minItems: 1, uniqueItems: true }),
  expiresInDays: Type.Optional(
    Type.Unsafe<Expiry>({ enum: EXPIRIES, description: 'Days until it expires; null: never. Default 90.' }),
  ),
})

export const Whoami = Type.Object({
  user: Type.Object({ id: Type.String(), name: Type.String(), email: Type.Optional(Type.String()) }),
  tokenLabel: Type.String(),
})

import Type, { type Static } from 'typebox'
import type { Player } from '../players/schemas.ts'

/** The player in a response of the token endpoint (specification, "Player"). */
export const OAuthUser = Type.Object({
  id: Type.String(),
  name: Type.String(),
  image_url: Type.String({ format: 'uri' }),
  email: Type.Optional(Type.String({ description: 'With the scope email.' })),
})
export type OAuthUser = Static<typeof OAuthUser>

export const UserInfo = Type.Object({
  sub: Type.String({ description: 'The stable id of the player.' }),
  name: Type.Optional(Type.String()),
  picture: Type.Optional(Type.String({ format: 'uri' })),
  image_url: Type.Optional(Type.String({ format: 'uri' })),
  email: Type.Optional(Type.String({ description: 'With the scope email.' })),
  email_verified: Type.Optional(Type.Boolean()),
})
export type UserInfo = Static<typeof UserInfo>

/** Fields that were not granted are absent, not empty. */
export const userOf = (player: Player, scope: ReadonlySet<string>): OAuthUser => ({
  id: player.id,
  name: player.name,
  image_url: player.imageUrl,
  ...(scope.has('email') && player.email ? { email: player.email } : {}),
})

export const userInfoOf = (player: Player, scope: ReadonlySet<string>): UserInfo => ({
  sub: player.id,
  ...(scope.has('profile') ? { name: player.name, picture: player.imageUrl, image_url: player.imageUrl } : {}),
  ...(scope.has('email') && player.email ? { email: player.email, email_verified: player.emailVerified } : {}),
})

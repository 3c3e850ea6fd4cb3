import type { Entity } from '../../core/data/database.ts'
import { OAuthAppRow, SignInCount } from './apps/entities.ts'
import {
  AccessToken,
  AuthorizationCode,
  Consent,
  DeviceCode,
  RefreshToken,
  RsaSigningKey,
  SigningKey,
} from './oauth/entities.ts'
import { Passkey } from './passkeys/entities.ts'
import { OneTimeToken, PlayerRow, SetupLink, UnreadMessage } from './players/entities.ts'
import { Session } from './sessions/entities.ts'
import { UpstreamAccount } from './upstream/entities.ts'

/** The tables of this plugin. */
export const entities: Entity[] = [
  PlayerRow,
  SetupLink,
  OneTimeToken,
  UnreadMessage,
  Passkey,
  UpstreamAccount,
  Session,
  OAuthAppRow,
  AuthorizationCode,
  AccessToken,
  RefreshToken,
  DeviceCode,
  Consent,
  RsaSigningKey,
  SigningKey,
  SignInCount,
]

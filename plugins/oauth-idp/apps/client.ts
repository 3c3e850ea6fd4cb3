import type { SigningAlgorithm } from '../oauth/signing-keys.ts'
import { registeredUris } from './redirect-uris.ts'

/** An OAuth application in the form that the protocol's endpoints use. */
export interface OAuthClient {
  id: string
  clientId: string
  gameId: string | null
  name: string
  homepageUrl: string | null
  /** The URIs that its owner registered. A hosted game also has those of its own addresses (`Apps.accepts`). */
  redirectUris: string[]
  /** The client belongs to a hosted game, so its server is this platform. */
  hosted: boolean
  /** A native or browser application, which can't keep a secret. */
  publicClient: boolean
  secretHash: string | null
  oldSecretHash: string | null
  oldSecretUntil: Date | null
  lastUsedAt: Date | null
  /** How a client without an owner came here: it registered itself, or its id is the address of a document about it. */
  registration: 'dynamic' | 'metadata' | null
  /** The address of that document. */
  metadataUrl: string | null
  /** How its id tokens are signed. */
  idTokenAlgorithm: SigningAlgorithm
}

export interface ClientRow {
  id: string
  client_id: string
  game_id: string | null
  name: string
  homepage_url: string | null
  redirect_uris: string
  served_uris: string | null
  hosted: number
  public_client: number
  secret_hash: string | null
  old_secret_hash: string | null
  old_secret_until: number | null
  last_used_at: number | null
  registration: OAuthClient['registration']
  metadata_url: string | null
  id_token_algorithm: SigningAlgorithm | null
}

export const FIND_CLIENT = `select id, client_id, game_id, name, homepage_url, redirect_uris, served_uris, hosted,
  public_client, secret_hash, old_secret_hash, old_secret_until, last_used_at, registration, metadata_url,
  id_token_algorithm from oauth_apps where client_id = ?`

export const clientOf = (row: ClientRow): OAuthClient => ({
  id: row.id,
  clientId: row.client_id,
  gameId: row.game_id,
  name: row.name,
  homepageUrl: row.homepage_url,
  redirectUris: registeredUris({
    hosted: Boolean(row.hosted),
    homepageUrl: row.homepage_url,
    redirectUris: JSON.parse(row.redirect_uris),
    servedUris: row.served_uris === null ? null : JSON.parse(row.served_uris),
  }),
  hosted: Boolean(row.hosted),
  publicClient: Boolean(row.public_client),
  secretHash: row.secret_hash,
  oldSecretHash: row.old_secret_hash,
  oldSecretUntil: row.old_secret_until === null ? null : new Date(row.old_secret_until),
  lastUsedAt: row.last_used_at === null ? null : new Date(row.last_used_at),
  registration: row.registration,
  metadataUrl: row.metadata_url,
  idTokenAlgorithm: row.id_token_algorithm ?? 'ES256',
})

/** Creates a public client that is in no table, such as the command line, which is part of the platform itself. */
export const unstoredClient = ({ clientId, name }: { clientId: string; name: string }): OAuthClient => ({
  id: clientId,
  clientId,
  gameId: null,
  name,
  homepageUrl: null,
  redirectUris: [],
  hosted: false,
  publicClient: true,
  secretHash: null,
  oldSecretHash: null,
  oldSecretUntil: null,
  lastUsedAt: null,
  registration: null,
  metadataUrl: null,
  idTokenAlgorithm: 'ES256',
})

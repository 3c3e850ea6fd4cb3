import type { Clock } from '../../../core/clock.ts'
import { type Database, deleteInBatches } from '../../../core/data/database.ts'
import { TtlCache } from '../../../core/data/ttl-cache.ts'
import { newId, randomText } from '../../../core/ids.ts'
import { visibleText } from '../../../core/visible-text.ts'
import { OAuthError } from '../oauth/errors.ts'
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '../oauth/signing-keys.ts'
import { type ClientRow, clientOf, FIND_CLIENT, type OAuthClient, unstoredClient } from './client.ts'
import { fetchMetadata, type MetadataSource } from './client-metadata.ts'
import { OAuthAppRow } from './entities.ts'
import { metadataClientId } from './metadata-url.ts'
import { isNativeRedirect } from './native-redirects.ts'
import { checkRedirectUris } from './redirect-uris.ts'

const UNUSED_MS = 86_400_000
/** Long enough for a person to read the consent page. */
const DOCUMENT_KEPT_MS = 60_000
const LONGEST_NAME = 120
const MOST_URIS = 20

/** The metadata of a client that registers itself (RFC 7591 section 2), as far as it matters here. */
export interface ClientMetadata {
  client_name?: unknown
  client_uri?: unknown
  redirect_uris?: unknown
  grant_types?: unknown
  response_types?: unknown
  token_endpoint_auth_method?: unknown
  id_token_signed_response_alg?: unknown
}

interface RegistrationsContext {
  db: Database
  clock: Clock
}

/**
 * Public clients without an owner: those that register themselves (RFC 7591), and those whose id is the address of a
 * document about them (OAuth Client ID Metadata Documents). They may ask for protected resources only, and the player
 * is asked each time, because a self-made name proves nothing.
 */
export class Registrations {
  readonly #context: RegistrationsContext
  readonly #documents: TtlCache<OAuthClient>
  /** Where documents come from. */
  source: MetadataSource = {}

  constructor(context: RegistrationsContext) {
    this.#context = context
    this.#documents = new TtlCache(context.clock, { maxAgeMs: DOCUMENT_KEPT_MS })
  }

  /**
   * Registers a client.
   *
   * @throws OAuthError `invalid_redirect_uri`, `invalid_client_metadata`
   */
  async register(metadata: ClientMetadata): Promise<OAuthClient & { issuedAt: Date }> {
    const fields = fieldsOf(metadata, 'An assistant')
    const now = this.#context.clock.now()
    const clientId = `svc_client_${randomText(16)}`
    await this.#insert({ ...fields, clientId, registration: 'dynamic', metadataUrl: null, now })
    return { ...((await this.#find(clientId)) as OAuthClient), issuedAt: now }
  }

  /**
   * Returns the client of a metadata document, which is fetched if it was not read in the last minute. It is not stored
   * yet: anybody can have any number of documents read.
   *
   * @throws OAuthError `invalid_client` for a document that can't be fetched, or is not about this address
   */
  async ofDocument(url: string): Promise<OAuthClient> {
    const client = await this.#documents.get(url, () => this.#read(url))
    if (!client) throw new OAuthError('invalid_client', 'The client has no metadata document.')
    return client
  }

  async #read(url: string): Promise<OAuthClient> {
    const document = await fetchMetadata(url, this.source)
    if (document.client_id !== url) {
      throw new OAuthError('invalid_client', 'The metadata document is about another client.')
    }
    const fields = fieldsOf(document as ClientMetadata, new URL(url).host)
    const clientId = metadataClientId(url)
    const now = this.#context.clock.now()
    const known = await this.#find(clientId)
    if (known) await this.#context.db.em().nativeUpdate(OAuthAppRow, { clientId }, { ...fields, updatedAt: now })
    const client = known ?? unstoredClient({ clientId, name: fields.name })
    return { ...client, ...fields, registration: 'metadata', metadataUrl: url }
  }

  /** Stores the client of a document, unless it is stored. */
  async store(client: OAuthClient): Promise<void> {
    const { name, homepageUrl, redirectUris, idTokenAlgorithm, clientId, metadataUrl } = client
    const fields = { name, homepageUrl, redirectUris, idTokenAlgorithm }
    await this.#insert({ ...fields, clientId, registration: 'metadata', metadataUrl, now: this.#context.clock.now() })
  }

  async #insert({
    now,
    ...fields
  }: Fields & Pick<OAuthAppRow, 'clientId'> & { registration: string; metadataUrl: string | null; now: Date }) {
    await this.#context.db.em().upsert(
      OAuthAppRow,
      {
        ...fields,
        id: newId('app', now),
        ownerId: '',
        gameId: null,
        servedUris: [],
        hosted: false,
        publicClient: true,
        secretHash: null,
        oldSecretHash: null,
        oldSecretUntil: null,
        createdAt: now,
        updatedAt: now,
        lastUsedAt: null,
      },
      { onConflictFields: ['clientId'], onConflictAction: 'ignore' },
    )
  }

  async #find(clientId: string): Promise<OAuthClient | null> {
    const [row] = await this.#context.db.query<ClientRow>(FIND_CLIENT, [clientId])
    return row ? clientOf(row) : null
  }

  /** Deletes clients that nobody has allowed within a day. */
  async sweep(signal?: AbortSignal): Promise<void> {
    const { db, clock } = this.#context
    const parameters = [new Date(clock.now().getTime() - UNUSED_MS)]
    const unused =
      'registration is not null and created_at < ? and not exists (select 1 from oauth_consents c where c.client_id = oauth_apps.client_id)'
    await deleteInBatches(db, { table: 'oauth_apps', key: ['id'], where: unused, parameters }, signal)
  }
}

interface Fields {
  name: string
  homepageUrl: string | null
  redirectUris: string[]
  idTokenAlgorithm: SigningAlgorithm
}

/** @throws OAuthError */
function fieldsOf(metadata: ClientMetadata, nameless: string): Fields {
  const { redirect_uris: uris, client_name: name, client_uri: home } = metadata
  if (
    !Array.isArray(uris) ||
    uris.length === 0 ||
    uris.length > MOST_URIS ||
    uris.some((uri) => typeof uri !== 'string')
  ) {
    throw new OAuthError('invalid_redirect_uri', `Send redirect_uris, 1 to ${MOST_URIS} addresses.`)
  }
  try {
    checkRedirectUris(
      uris.filter((uri) => !isNativeRedirect(uri)),
      { lan: false },
    )
  } catch (error) {
    throw new OAuthError('invalid_redirect_uri', (error as Error).message)
  }
  const isWithout = (list: unknown, value: string) =>
    list !== undefined && !(Array.isArray(list) && list.includes(value))
  if (isWithout(metadata.response_types, 'code') || isWithout(metadata.grant_types, 'authorization_code')) {
    throw new OAuthError('invalid_client_metadata', 'The grant type is authorization_code, the response type is code.')
  }
  return {
    name: nameOf(name) ?? nameless,
    homepageUrl: homeOf(home),
    redirectUris: [...new Set(uris as string[])],
    idTokenAlgorithm: algorithmOf(metadata.id_token_signed_response_alg),
  }
}

/** An algorithm that is not known here is replaced; the answer to the registration says so (RFC 7591 section 2). */
const algorithmOf = (wanted: unknown): SigningAlgorithm =>
  SIGNING_ALGORITHMS.find((known) => known === wanted) ?? 'ES256'

/** A name in one line, without characters that hide or turn around others. */
function nameOf(name: unknown): string | null {
  if (typeof name !== 'string') return null
  return visibleText(name).slice(0, LONGEST_NAME) || null
}

function homeOf(home: unknown): string | null {
  return typeof home === 'string' && home.length <= 2000 && /^https:\/\//.test(home) && URL.canParse(home) ? home : null
}

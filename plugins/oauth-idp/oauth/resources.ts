import { OAuthError } from './errors.ts'

/** A protected resource beside the API of games (RFC 9728), for which tokens are issued separately (RFC 8707). */
export interface ProtectedResource {
  /** Its identifier, which is its address. */
  uri: string
  /** For people, such as `the tools of this platform`. */
  name: string
  /** Its scopes, with the texts of the consent page. */
  scopes: Record<string, { title: string; description: string }>
}

/** The resources that plugins add. A token for one is valid there only, and no other token is. */
export class ProtectedResources {
  readonly #known = new Map<string, ProtectedResource>()

  add(resource: ProtectedResource): void {
    this.#known.set(resource.uri, resource)
  }

  get(uri: string): ProtectedResource | undefined {
    return this.#known.get(uri)
  }

  /**
   * Reads the parameter `resource` of a request (RFC 8707 section 2).
   *
   * @returns null when the request has none
   * @throws OAuthError `invalid_target` for an unknown resource
   */
  read(uri: string | undefined): ProtectedResource | null {
    if (uri === undefined) return null
    const resource = this.#known.get(uri)
    if (!resource) throw new OAuthError('invalid_target', 'There is no such protected resource here.')
    return resource
  }

  /** Returns scopes of any resource as words in a sentence. */
  words(scope: readonly string[]): string {
    const titles = [...this.#known.values()].flatMap(({ scopes }) => scope.flatMap((name) => scopes[name]?.title ?? []))
    return [...new Set(titles.map((title) => title.charAt(0).toLowerCase() + title.slice(1)))].join('; ')
  }

  /** The names of all scopes, for the metadata. */
  scopes(): string[] {
    return [...new Set([...this.#known.values()].flatMap(({ scopes }) => Object.keys(scopes)))]
  }
}

/**
 * Parses the scopes of a request for a resource, each once. A request without scopes means all of them.
 *
 * @throws OAuthError `invalid_scope`
 */
export function readResourceScope({ scopes }: ProtectedResource, scope: string | undefined): string[] {
  const asked = [...new Set((scope ?? '').split(' ').filter((name) => name !== '' && name !== 'offline_access'))]
  const unknown = asked.find((name) => !Object.hasOwn(scopes, name))
  if (unknown !== undefined) {
    throw new OAuthError('invalid_scope', `The scopes of this resource are ${Object.keys(scopes).join(', ')}.`)
  }
  return asked.length > 0 ? asked : Object.keys(scopes)
}

/**
 * Compares the resource that a token request names with that of its grant (RFC 8707 section 2.2). It may name none.
 *
 * @throws OAuthError `invalid_target`
 */
export function mustBeFor(granted: string | null, asked: string | undefined): void {
  if (asked !== undefined && asked !== granted) {
    throw new OAuthError('invalid_target', 'The resource is not the one that the player has allowed.')
  }
}

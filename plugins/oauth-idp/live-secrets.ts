import { hashSecret } from './secret-hash.ts'

/** A secret that the platform issues, and of which it stores only the digest. */
export interface SecretKind {
  /** For people, such as `an API token`. */
  name: string
  /** Of all secrets of this kind; it begins with `svc_`. */
  prefix: string
  /** The number of characters after the prefix. */
  length: number
  /** Returns those of some digests that are known and in force. @param digests at most 500 */
  live(digests: readonly string[]): Promise<string[]>
}

/** A text that has the form of a secret. */
export interface SecretCandidate {
  /** The name of its kind. */
  kind: string
  /** SHA-256, base64url. */
  digest: string
}

/** The number of digests that are looked up at once. */
const CHUNK = 500
/** Of a secret with its prefix, for those who look for one in a text. */
export const LONGEST_SECRET = 64

/** Tells secrets that work on this platform from other texts, so that nobody publishes one. */
export class LiveSecrets {
  readonly #kinds = new Map<string, SecretKind>()

  /** Adds a kind of secret. */
  add(kind: SecretKind): void {
    this.#kinds.set(kind.name, kind)
  }

  /** Returns what a text begins with, if that has the form of a secret; else null. Nothing is looked up. */
  recognise(text: string): SecretCandidate | null {
    for (const { name, prefix, length } of this.#kinds.values()) {
      if (!text.startsWith(prefix)) continue
      const secret = text.slice(0, prefix.length + length)
      const isWhole = secret.length === prefix.length + length && /^[\w-]+$/.test(secret)
      return isWhole ? { kind: name, digest: hashSecret(secret) } : null
    }
    return null
  }

  /** Returns the candidates that are secrets of this platform and still work. */
  async among<Candidate extends SecretCandidate>(candidates: readonly Candidate[]): Promise<Candidate[]> {
    const live = new Set<string>()
    for (const { name, live: liveOf } of this.#kinds.values()) {
      const digests = [...new Set(candidates.filter(({ kind }) => kind === name).map(({ digest }) => digest))]
      for (let start = 0; start < digests.length; start += CHUNK) {
        for (const digest of await liveOf(digests.slice(start, start + CHUNK))) live.add(digest)
      }
    }
    return candidates.filter(({ digest }) => live.has(digest))
  }
}

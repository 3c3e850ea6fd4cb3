import { LONGEST_SECRET, type SecretCandidate } from '../../oauth-idp/index.ts'

/** A text in a file that has the form of a secret. */
export interface FoundCandidate extends SecretCandidate {
  /** From 1. */
  line: number
}

/** A secret in an uploaded file, as stored with the deploy: its digest, never the secret. */
export interface FoundSecret extends FoundCandidate {
  sha256: string
}

const BEGINS = 'svc_'
const NEWLINE = 10
/** A NUL among the first bytes tells binary files from text, as in Git. */
const HEAD_BYTES = 8000
/** The maximum number of candidates of one file. */
const MOST = 100

/** Looks for secrets in the bytes of a file as they pass. Binary files are left alone after their first chunk. */
export class SecretScanner {
  readonly found: FoundCandidate[] = []
  readonly #recognise: (text: string) => SecretCandidate | null
  #isBinary: boolean | null = null
  #line = 1
  /** The end of the bytes so far, in which a secret may begin. */
  #tail: Buffer = Buffer.alloc(0)

  /** @param recognise `LiveSecrets.recognise` */
  constructor(recognise: (text: string) => SecretCandidate | null) {
    this.#recognise = recognise
  }

  /** Whether the rest of the file needs no look. */
  get isDone(): boolean {
    return this.#isBinary === true || this.found.length >= MOST
  }

  push(chunk: Buffer): void {
    this.#isBinary ??= chunk.subarray(0, HEAD_BYTES).includes(0)
    if (this.isDone) return
    const bytes = this.#tail.length === 0 ? chunk : Buffer.concat([this.#tail, chunk])
    const end = Math.max(0, bytes.length - LONGEST_SECRET + 1)
    this.#scan(bytes, end)
    this.#tail = Buffer.from(bytes.subarray(end))
  }

  /** Looks at the end of the file. @returns all candidates */
  end(): FoundCandidate[] {
    if (!this.isDone) this.#scan(this.#tail, this.#tail.length)
    return this.found
  }

  /** @param end where the last secret may begin */
  #scan(bytes: Buffer, end: number): void {
    let counted = 0
    const countTo = (place: number) => {
      for (let at = bytes.indexOf(NEWLINE, counted); at !== -1 && at < place; at = bytes.indexOf(NEWLINE, at + 1))
        this.#line++
      counted = place
    }
    for (let at = bytes.indexOf(BEGINS); at !== -1 && at < end; at = bytes.indexOf(BEGINS, at + BEGINS.length)) {
      const candidate = this.#recognise(bytes.toString('latin1', at, at + LONGEST_SECRET))
      if (!candidate) continue
      countTo(at)
      this.found.push({ kind: candidate.kind, digest: candidate.digest, line: this.#line })
      if (this.isDone) return
    }
    countTo(end)
  }
}

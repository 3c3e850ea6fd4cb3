import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LockMode } from '@mikro-orm/core'
import type { FastifyInstance } from 'fastify'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { openBlob } from '../blobs/blobs.ts'
import { DeployRow } from '../entities.ts'
import { LiveSecret } from '../errors.ts'
import type { Contents } from '../manifest/manifests.ts'
import { mediaTypeOf } from '../manifest/media-type.ts'
import type { VerifiedFile } from '../uploads/batch-writer.ts'
import { type FoundCandidate, type FoundSecret, SecretScanner } from './secret-scanner.ts'

/** The maximum number of secrets that are recorded with a deploy, and of candidates that are looked up at once. */
const MOST_RECORDED = 100
const MOST_CANDIDATES = 1000
/** The bytes that are scanned before other work gets a turn. */
const SLICE = 512 * 1024
/** A file that did not pass through this server is read up to this size. */
const STORED_BYTES = 8 * 1024 ** 2
/** What holds no text. */
const MEDIA = /^(?:image\/(?!svg)|audio\/|video\/|font\/|application\/(?:wasm|zip|gzip))/

type Parts = Pick<FastifyInstance, 'db' | 'identity'> & { storage: Storage }

/**
 * Keeps secrets out of deploys. Files are scanned while they arrive, and what is found is recorded with the deploy before
 * the file counts; `refuse` decides when the deploy is finalized, so that one answer names all files.
 */
export class SecretCheck {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Passes a body on, and scans it. `record` is to be called after the last byte. */
  scan(deployId: string, sha256: string, body: Readable): { body: Readable; record(): Promise<void> } {
    const scanner = this.#scanner()
    async function* chunks(): AsyncGenerator<Buffer> {
      // The caller still needs the body when this stream ends early.
      for await (const chunk of body.iterator({ destroyOnReturn: false })) {
        if (!scanner.isDone) scanner.push(chunk)
        yield chunk
      }
    }
    return {
      body: Readable.from(chunks(), { objectMode: false }),
      record: () => this.#record(deployId, named(sha256, scanner.end())),
    }
  }

  /** Scans files in memory. */
  async scanAll(deployId: string, files: readonly VerifiedFile[]): Promise<void> {
    const found: FoundSecret[] = []
    let scanned = 0
    for (const { sha256, bytes } of files) {
      const scanner = this.#scanner()
      scanner.push(bytes)
      found.push(...named(sha256, scanner.end()))
      scanned += bytes.length
      if (scanned < SLICE) continue
      scanned = 0
      await nextTurn()
    }
    await this.#record(deployId, found)
  }

  /** Scans a file that is in the storage already. Large files and media are not read. */
  async scanStored(deployId: string, file: { sha256: string; size: number; path: string }): Promise<void> {
    if (file.size > STORED_BYTES || MEDIA.test(mediaTypeOf(file.path))) return
    const scanner = this.#scanner()
    for await (const chunk of await openBlob(this.#parts.storage, file)) {
      scanner.push(chunk)
      if (scanner.isDone) break
    }
    await this.#record(deployId, named(file.sha256, scanner.end()))
  }

  /** Refuses a deploy with a secret that still works. @throws LiveSecret naming files and lines */
  async refuse(deployId: string, contents: Contents): Promise<void> {
    const row = await this.#parts.db.em().findOne(DeployRow, { id: deployId }, { fields: ['id', 'secrets'] })
    if (!row?.secrets) return
    const live = await this.#parts.identity.liveSecrets.among(row.secrets)
    const details = live.flatMap(({ sha256, kind, line }) => {
      const path = contents.get(sha256)?.path
      return path === undefined ? [] : [{ path, message: `line ${line} holds ${kind}`, line, kind }]
    })
    details.sort((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1))
    const [first] = details
    if (!first) return
    throw new LiveSecret(first.path, first.line, first.kind, others(details.length - 1)).with({
      details: details.map(({ path, message }) => ({ path, message })),
    })
  }

  #scanner(): SecretScanner {
    const { liveSecrets } = this.#parts.identity
    return new SecretScanner((text) => liveSecrets.recognise(text))
  }

  async #record(deployId: string, found: readonly FoundSecret[]): Promise<void> {
    if (found.length === 0) return
    const { db, identity } = this.#parts
    const live = await identity.liveSecrets.among(found.slice(0, MOST_CANDIDATES))
    if (live.length === 0) return
    await db.transaction(async (em) => {
      const row = await em.findOne(DeployRow, { id: deployId }, { lockMode: LockMode.PESSIMISTIC_WRITE })
      if (!row) return
      const known = row.secrets ?? []
      const fresh = live.filter(({ sha256, line }) => !known.some((one) => one.sha256 === sha256 && one.line === line))
      const secrets = [...known, ...fresh].slice(0, MOST_RECORDED)
      await em.nativeUpdate(DeployRow, { id: deployId }, { secrets })
    })
  }
}

const named = (sha256: string, found: readonly FoundCandidate[]): FoundSecret[] =>
  found.map(({ kind, digest, line }) => ({ sha256, kind, digest, line }))

const others = (count: number): string => (count === 0 ? '' : count === 1 ? ', and one more' : `, and ${count} more`)

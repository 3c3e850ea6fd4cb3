import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { QuotaAccount, SharedBlob, StoredBytes } from './entities.ts'
import type { Quotas } from './quotas.ts'
import { type BlobCount, correctBlobs, holdAccount } from './storage-accounts.ts'

/** The maximum number of attempts after concurrent changes. The next night is another chance. */
const TRIES = 5
/** The number of blobs in one transaction. */
const CHUNK = 50

/** A difference between a recount and the stored count. */
export interface Difference {
  ownerId: string
  kind: string
  noted: number
  counted: number
}

interface Place {
  ownerId: string
  kind: string
}

interface Counted {
  bytes: number
  blobs: Map<string, BlobCount>
}

/** The blobs of a kind with a wrong count, with the right one; 0 for unused blobs. */
interface Correction {
  wrong: BlobCount[]
  difference: Difference
}

type Parts = Pick<FastifyInstance, 'db' | 'log'>

/** Recounts players' data, and corrects the counts. */
export class Recount {
  readonly #parts: Parts
  readonly #quotas: Quotas

  constructor(parts: Parts, quotas: Quotas) {
    this.#parts = parts
    this.#quotas = quotas
  }

  /** The nightly job, which recounts every player in sequence. @returns the corrected differences */
  async run(signal: AbortSignal): Promise<Difference[]> {
    const owners = new Set<string>()
    for (const kind of this.#quotas.kinds.values()) for (const id of await kind.owners()) owners.add(id)
    const accounts = await this.#parts.db.query<{ id: string }>('select owner_id as id from quota_accounts')
    for (const { id } of accounts) owners.add(id)
    const differences: Difference[] = []
    for (const ownerId of [...owners].sort()) {
      if (signal.aborted) break
      differences.push(...(await this.player(ownerId)))
      await nextTurn()
    }
    return differences
  }

  /**
   * Recounts one player. It reads without locks, and writes only corrections, in transactions of a few milliseconds,
   * while nothing else changes. Until the last of them the counts are wrong in another way.
   *
   * @returns the differences
   */
  async player(ownerId: string): Promise<Difference[]> {
    const { log } = this.#parts
    for (let tries = 0; tries < TRIES; tries++) {
      const before = await this.#changes(ownerId)
      const corrections: Correction[] = []
      for (const [kind, bytes] of this.#quotas.kinds)
        corrections.push(...(await this.#compare({ ownerId, kind }, group(await bytes.tally(ownerId)))))
      if ((await this.#changes(ownerId)) !== before) continue
      if (!(await this.#apply(ownerId, before, corrections))) continue
      const differences = corrections.map(({ difference }) => difference)
      // Data from before the first start with quotas has no account. Counting it is no correction.
      if (before === 0 && differences.length > 0) log.info({ ownerId, differences }, 'the data of a player was counted')
      else for (const difference of differences) log.warn(difference, 'the stored bytes of a player were counted wrong')
      return differences
    }
    return []
  }

  /** Returns the corrections that make the rows of a kind equal to the recount; empty when they are equal. */
  async #compare({ ownerId, kind }: Place, counted: Counted): Promise<Correction[]> {
    const em = this.#parts.db.em()
    const noted = (await em.findOne(StoredBytes, { ownerId, kind }))?.bytes ?? 0
    const rows = await em.find(SharedBlob, { ownerId, kind }, { disableIdentityMap: true })
    const missing = new Map(counted.blobs)
    const wrong: BlobCount[] = []
    for (const { sha256, bytes, refs } of rows) {
      const right = missing.get(keyOf({ sha256, bytes }))
      missing.delete(keyOf({ sha256, bytes }))
      if (right?.refs !== refs) wrong.push({ sha256, bytes, refs: right?.refs ?? 0 })
    }
    wrong.push(...missing.values())
    if (wrong.length === 0 && noted === counted.bytes) return []
    return [{ wrong, difference: { ownerId, kind, noted, counted: counted.bytes } }]
  }

  /** @returns whether all was written; false when a concurrent change was found */
  async #apply(ownerId: string, before: number, corrections: Correction[]): Promise<boolean> {
    let expected = before
    const inTurn = async (work: (em: SqlEntityManager) => Promise<void>) => {
      expected++
      const applied = await this.#parts.db.transaction(async (em) => {
        const { changes } = await holdAccount(em, ownerId)
        if (changes !== expected) return false
        await work(em)
        return true
      })
      await nextTurn()
      return applied
    }
    for (const { wrong, difference } of corrections) {
      for (let start = 0; start < wrong.length; start += CHUNK) {
        const some = wrong.slice(start, start + CHUNK)
        if (!(await inTurn((em) => correctBlobs(em, ownerId, difference.kind, some)))) return false
      }
      const { kind, counted: bytes } = difference
      const correctSum = async (em: SqlEntityManager) => void (await em.upsert(StoredBytes, { ownerId, kind, bytes }))
      if (!(await inTurn(correctSum))) return false
    }
    const isEmpty = before > 0 && (await this.#parts.db.em().count(StoredBytes, { ownerId, bytes: { $gt: 0 } })) === 0
    return !isEmpty || inTurn((em) => this.#quotas.removeEmpty(em, ownerId))
  }

  async #changes(ownerId: string): Promise<number> {
    const row = await this.#parts.db.em().findOne(QuotaAccount, { ownerId })
    return row?.changes ?? 0
  }
}

function group({ bytes, blobs }: { bytes: number; blobs: { sha256: string; bytes: number }[] }): Counted {
  const grouped: Counted['blobs'] = new Map()
  for (const blob of blobs) {
    const key = keyOf(blob)
    const entry = grouped.get(key)
    if (entry) entry.refs++
    else {
      grouped.set(key, { sha256: blob.sha256, bytes: blob.bytes, refs: 1 })
      bytes += blob.bytes
    }
  }
  return { bytes, blobs: grouped }
}

const keyOf = ({ sha256, bytes }: { sha256: string; bytes: number }) => `${sha256} ${bytes}`

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { QuotaAccount, SharedBlob, StoredBytes } from './entities.ts'
import type { Quotas } from './quotas.ts'
import { holdAccount } from './storage-accounts.ts'

/** How often a count begins anew because something changed meanwhile; the next night is another chance. */
const TRIES = 5

/** A difference between a count and what was noted. */
export interface Difference {
  ownerId: string
  kind: string
  noted: number
  counted: number
}

interface Counted {
  bytes: number
  blobs: Map<string, { sha256: string; bytes: number; refs: number }>
}

type Parts = Pick<FastifyInstance, 'db' | 'log'>

/** Counts anew what players store, and mends the counts. */
export class Recount {
  readonly #parts: Parts
  readonly #quotas: Quotas

  constructor(parts: Parts, quotas: Quotas) {
    this.#parts = parts
    this.#quotas = quotas
  }

  /** Every player, one after the other; the nightly job. @returns what was wrong, and is right now */
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
   * One player. It reads without holding anybody up, and writes only when nothing has changed since it began.
   *
   * @returns what was wrong
   */
  async player(ownerId: string): Promise<Difference[]> {
    const { db, log } = this.#parts
    for (let tries = 0; tries < TRIES; tries++) {
      const before = await this.#changes(ownerId)
      const counted = new Map<string, Counted>()
      for (const [name, kind] of this.#quotas.kinds) counted.set(name, group(await kind.tally(ownerId)))
      const found = await db.transaction(async (em) => {
        const { changes } = await holdAccount(em, ownerId)
        if (changes !== before + 1) return null
        const differences = []
        for (const [kind, counts] of counted) differences.push(...(await mend(em, { ownerId, kind }, counts)))
        await this.#quotas.removeEmpty(em, ownerId)
        return differences
      })
      if (!found) continue
      for (const difference of found) log.warn(difference, 'the stored bytes of a player were counted wrong')
      return found
    }
    return []
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

/** Makes the rows of a kind what was counted. The account is held. */
async function mend(
  em: SqlEntityManager,
  { ownerId, kind }: { ownerId: string; kind: string },
  counted: Counted,
): Promise<Difference[]> {
  const noted = (await em.findOne(StoredBytes, { ownerId, kind }))?.bytes ?? 0
  const rows = await em.find(SharedBlob, { ownerId, kind }, { disableIdentityMap: true })
  const missing = new Map(counted.blobs)
  let wrong = noted !== counted.bytes
  for (const { sha256, bytes, refs } of rows) {
    const right = missing.get(keyOf({ sha256, bytes }))
    missing.delete(keyOf({ sha256, bytes }))
    if (right?.refs === refs) continue
    wrong = true
    const row = { ownerId, kind, sha256, bytes }
    if (right) await em.nativeUpdate(SharedBlob, row, { refs: right.refs })
    else await em.nativeDelete(SharedBlob, row)
  }
  const lacking = [...missing.values()]
  for (let start = 0; start < lacking.length; start += 100) {
    const some = lacking.slice(start, start + 100).map((blob) => ({ ownerId, kind, ...blob }))
    await em.insertMany(SharedBlob, some)
  }
  if (!wrong && lacking.length === 0) return []
  await em.upsert(StoredBytes, { ownerId, kind, bytes: counted.bytes })
  return [{ ownerId, kind, noted, counted: counted.bytes }]
}

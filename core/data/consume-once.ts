import type { EntityData, EntityName, FilterQuery, RequiredEntityData } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { isUniqueViolation } from './database.ts'

/**
 * Consumes a single-use record (authorization code, upload, set-up token, reset link) by deleting its row. Of any
 * number of concurrent callers exactly one gets `true`. All single-use records use this function or `markOnce`, never a
 * look-up followed by a write. Inside a transaction the deletion takes effect when it commits.
 *
 * @param where selects one row by a unique key, with any further condition such as `expiresAt`
 */
export async function consumeOnce<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  where: FilterQuery<NoInfer<T>>,
): Promise<boolean> {
  return one(await em.nativeDelete(entity, where))
}

/**
 * Like `consumeOnce`, for a row that remains as a record: sets columns if the condition still holds.
 *
 * @param where selects one row by a unique key, and the state that `set` ends: `{ id, usedAt: null }`
 * @param set makes `where` false: `{ usedAt: now }`
 */
export async function markOnce<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  where: FilterQuery<NoInfer<T>>,
  set: EntityData<T>,
): Promise<boolean> {
  return one(await em.nativeUpdate(entity, where, set))
}

/**
 * Like `consumeOnce`, for a value that is not stored before its use, such as a signed challenge: inserts its row. Not for
 * a transaction, which a PostgreSQL database ends at the second insert.
 *
 * @param row contains a unique key of the value, and is kept for as long as the value is valid
 */
export async function spendOnce<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  row: RequiredEntityData<T>,
): Promise<boolean> {
  try {
    await em.insert(entity, row)
    return true
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
}

function one(rows: number): boolean {
  if (rows > 1) throw new Error(`A single-use condition met ${rows} rows; it must name one by a unique key.`)
  return rows === 1
}

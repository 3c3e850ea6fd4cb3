import type { Migration } from '../../core/data/migrations.ts'
import { migration } from './migrations/2026_11_21_credits.ts'
import { migration as holdersMigration } from './migrations/2026_11_23_holders.ts'
import { migration as reversalsMigration } from './migrations/2026_11_26_reversals.ts'

/** The migrations in the order in which they run. */
export const migrations: Migration[] = [migration, holdersMigration, reversalsMigration]

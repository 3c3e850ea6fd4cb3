import type { Migration } from '../../core/data/migrations.ts'
import { migration } from './migrations/2026_11_23_saves.ts'
import { migration as valuesByRow } from './migrations/2026_11_24_save_values_by_row.ts'
import { migration as pendingValues } from './migrations/2026_11_26_pending_values.ts'
import { migration as totals } from './migrations/2026_11_26_save_totals.ts'
import { migration as unreadVersions } from './migrations/2026_11_26_unread_versions.ts'

/** The migrations in the order in which they run. */
export const migrations: Migration[] = [migration, valuesByRow, pendingValues, totals, unreadVersions]

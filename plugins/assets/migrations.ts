import type { Migration } from '../../core/data/migrations.ts'
import { migration } from './migrations/2026_11_21_assets.ts'
import { migration as appliedClips } from './migrations/2026_11_23_applied_clips.ts'
import { suspensionMigration } from './migrations/2026_11_23_suspension.ts'
import { migration as countedFiles } from './migrations/2026_11_26_counted_files.ts'
import { lodChoiceMigration } from './migrations/2026_11_26_lod_choice.ts'
import { suspensionCauseMigration } from './migrations/2026_11_26_suspension_cause.ts'
import { gameOfAssetMigration } from './migrations/2026_11_28_game_of_asset.ts'
import { authorMigration } from './migrations/2026_11_29_author.ts'

/** The migrations in the order in which they run. */
export const migrations: Migration[] = [
  migration,
  appliedClips,
  suspensionMigration,
  suspensionCauseMigration,
  countedFiles,
  lodChoiceMigration,
  gameOfAssetMigration,
  authorMigration,
]

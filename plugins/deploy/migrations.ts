import type { Migration } from '../../core/data/migrations.ts'
import { migration } from './migrations/2026_11_21_deploys.ts'
import { variantsMigration } from './migrations/2026_11_21_deploys_variants.ts'
import { migration as examinedBuildsMigration } from './migrations/2026_11_23_examined_builds.ts'
import { migration as pinnedMigration } from './migrations/2026_11_23_pinned_deploys.ts'
import { migration as roomScriptsMigration } from './migrations/2026_11_23_room_scripts.ts'
import { migration as changedNamesMigration } from './migrations/2026_11_26_changed_names.ts'
import { migration as liveSecretsMigration } from './migrations/2026_11_26_live_secrets.ts'
import { makersOfDeploysMigration } from './migrations/2026_11_26_makers_of_deploys.ts'
import { migration as openDeploysMigration } from './migrations/2026_11_26_open_deploys.ts'
import { deploysOfPlayersMigration } from './migrations/2026_11_28_deploys_of_players.ts'
import { replacedDeploysMigration } from './migrations/2026_11_28_replaced_deploys.ts'

/** The migrations in the order in which they run. */
export const migrations: Migration[] = [
  migration,
  variantsMigration,
  pinnedMigration,
  roomScriptsMigration,
  examinedBuildsMigration,
  openDeploysMigration,
  changedNamesMigration,
  liveSecretsMigration,
  makersOfDeploysMigration,
  deploysOfPlayersMigration,
  replacedDeploysMigration,
]

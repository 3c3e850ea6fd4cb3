import type { Migration } from '../../core/data/migrations.ts'
import { migration } from './migrations/2026_11_21_games.ts'
import { listsMigration } from './migrations/2026_11_21_games_lists.ts'
import { approvalMigration } from './migrations/2026_11_23_approval.ts'
import { liveSharedMemoryMigration } from './migrations/2026_11_23_live_shared_memory.ts'
import { playableListsMigration } from './migrations/2026_11_23_playable_lists.ts'
import { suspensionMigration } from './migrations/2026_11_23_suspension.ts'
import { activityMigration } from './migrations/2026_11_24_activity.ts'
import { deletionForGoodMigration } from './migrations/2026_11_26_deletion_for_good.ts'
import { featuresMigration } from './migrations/2026_11_26_features.ts'
import { gamesOfClientsMigration } from './migrations/2026_11_26_games_of_clients.ts'
import { membersMigration } from './migrations/2026_11_26_members.ts'
import { suspensionCauseMigration } from './migrations/2026_11_26_suspension_cause.ts'
import { activityOfPlayersMigration } from './migrations/2026_11_28_activity_of_players.ts'
import { transfersMigration } from './migrations/2026_11_28_game_transfers.ts'
import { invitationsByNameMigration } from './migrations/2026_11_28_invitations_by_name.ts'
import { storedBytesOfTransfersMigration } from './migrations/2026_11_28_stored_bytes_of_transfers.ts'

/** The migrations in the order in which they run. */
export const migrations: Migration[] = [
  migration,
  listsMigration,
  suspensionMigration,
  playableListsMigration,
  approvalMigration,
  liveSharedMemoryMigration,
  activityMigration,
  gamesOfClientsMigration,
  suspensionCauseMigration,
  deletionForGoodMigration,
  membersMigration,
  featuresMigration,
  transfersMigration,
  invitationsByNameMigration,
  activityOfPlayersMigration,
  storedBytesOfTransfersMigration,
]

import type { Migration } from '../../../core/data/migrations.ts'

export const storedBytesOfTransfersMigration: Migration = {
  name: '2026_11_28_stored_bytes_of_transfers',
  sqlite: ['alter table `game_transfers` add column `stored_bytes` bigint null'],
  postgres: ['alter table "game_transfers" add "stored_bytes" bigint null'],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const liveSharedMemoryMigration: Migration = {
  name: '2026_11_23_games_live_shared_memory',
  sqlite: ['alter table `games` add column `live_shared_memory` integer not null default false'],
  postgres: ['alter table "games" add "live_shared_memory" boolean not null default false'],
}

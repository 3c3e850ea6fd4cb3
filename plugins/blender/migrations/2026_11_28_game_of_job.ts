import type { Migration } from '../../../core/data/migrations.ts'

export const gameOfJobMigration: Migration = {
  name: '2026_11_28_game_of_job',
  sqlite: [
    'alter table `blender_generations` add column `game_id` text null',
    'create index `blender_generations_game_id_index` on `blender_generations` (`game_id`)',
    'alter table `blender_jobs` add column `game_id` text null',
    'create index `blender_jobs_game_id_id_index` on `blender_jobs` (`game_id`, `id`)',
  ],
  postgres: [
    'alter table "blender_generations" add "game_id" varchar(30) null',
    'create index "blender_generations_game_id_index" on "blender_generations" ("game_id")',
    'alter table "blender_jobs" add "game_id" varchar(30) null',
    'create index "blender_jobs_game_id_id_index" on "blender_jobs" ("game_id", "id")',
  ],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const gameOfAssetMigration: Migration = {
  name: '2026_11_28_game_of_asset',
  sqlite: [
    'alter table `assets` add column `game_id` text null',
    'create index `assets_game_id_id_index` on `assets` (`game_id`, `id`)',
  ],
  postgres: [
    'alter table "assets" add "game_id" varchar(30) null',
    'create index "assets_game_id_id_index" on "assets" ("game_id", "id")',
  ],
}

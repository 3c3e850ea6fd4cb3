import type { Migration } from '../../../core/data/migrations.ts'

export const lodChoiceMigration: Migration = {
  name: '2026_11_26_assets_lod_choice',
  sqlite: ['alter table `assets` add column `lod_choice` text null'],
  postgres: ['alter table "assets" add "lod_choice" varchar(4) null'],
}

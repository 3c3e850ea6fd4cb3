import type { Migration } from '../../../core/data/migrations.ts'

export const suspensionMigration: Migration = {
  name: '2026_11_23_assets_suspension',
  sqlite: [
    'alter table `assets` add column `suspended_at` datetime null',
    'alter table `assets` add column `suspension_reason` text null',
    'alter table `assets` add column `appeal` text null',
  ],
  postgres: [
    'alter table "assets" add "suspended_at" timestamptz(3) null, add column "suspension_reason" varchar(1000) null, add column "appeal" varchar(2000) null',
  ],
}

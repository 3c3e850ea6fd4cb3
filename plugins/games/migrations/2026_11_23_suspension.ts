import type { Migration } from '../../../core/data/migrations.ts'

export const suspensionMigration: Migration = {
  name: '2026_11_23_games_suspension',
  sqlite: [
    'alter table `games` add column `suspended_at` datetime null',
    'alter table `games` add column `suspension_reason` text null',
    'alter table `games` add column `appeal` text null',
  ],
  postgres: [
    'alter table "games" add column "suspended_at" timestamptz(3) null, add column "suspension_reason" varchar(1000) null, add column "appeal" varchar(2000) null',
  ],
}

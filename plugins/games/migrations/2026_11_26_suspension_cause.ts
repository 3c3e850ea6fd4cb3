import type { Migration } from '../../../core/data/migrations.ts'

export const suspensionCauseMigration: Migration = {
  name: '2026_11_26_games_suspension_cause',
  sqlite: [
    'alter table `games` add column `suspension_cause` text null',
    'alter table `games` add column `suspended_with_account` integer null',
  ],
  postgres: ['alter table "games" add "suspension_cause" varchar(30) null, add "suspended_with_account" boolean null'],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const approvalMigration: Migration = {
  name: '2026_11_23_games_approval',
  sqlite: [
    'alter table `games` add column `approval` text null',
    'alter table `games` add column `approval_reason` text null',
    'alter table `games` add column `requested_visibility` text null',
    'create index `games_approval_index` on `games` (`approval`, `id`) where approval is not null',
  ],
  postgres: [
    'alter table "games" add column "approval" varchar(10) null, add column "approval_reason" varchar(1000) null, add column "requested_visibility" varchar(7) null',
    'create index "games_approval_index" on "games" ("approval", "id") where approval is not null',
  ],
}

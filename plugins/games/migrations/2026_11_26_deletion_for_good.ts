import type { Migration } from '../../../core/data/migrations.ts'

export const deletionForGoodMigration: Migration = {
  name: '2026_11_26_deletion_for_good',
  sqlite: [
    'alter table `games` add column `erased_at` datetime null',
    'create index games_erased_at_index on games (erased_at) where erased_at is not null',
    'alter table `game_slugs` add column `freed_by` text null',
    'create index `game_slugs_freed_by_freed_at_index` on `game_slugs` (`freed_by`, `freed_at`)',
  ],
  postgres: [
    'alter table "games" add "erased_at" timestamptz(3) null',
    'create index games_erased_at_index on games (erased_at) where erased_at is not null',
    'alter table "game_slugs" add "freed_by" varchar(30) null',
    'create index "game_slugs_freed_by_freed_at_index" on "game_slugs" ("freed_by", "freed_at")',
  ],
}

import type { Migration } from '../../../core/data/migrations.ts'

// On SQLite, `save_versions` gets an index beside its rows. Without row ids the tree of the primary key contained the
// values: an inner page had four children at 4 KB a value, and a look-up compared keys beside values.
export const migration: Migration = {
  name: '2026_11_24_save_values_by_row',
  sqlite: [
    'create table `save_versions_by_row` (`game_id` text not null, `player_id` text not null, `key` text not null, `version` integer not null, `size` integer not null, `content_type` text not null, `created_at` datetime not null, `sha256` text null, `value` blob null, primary key (`game_id`, `player_id`, `key`, `version`))',
    'insert into `save_versions_by_row` (`game_id`, `player_id`, `key`, `version`, `size`, `content_type`, `created_at`, `sha256`, `value`) select `game_id`, `player_id`, `key`, `version`, `size`, `content_type`, `created_at`, `sha256`, `value` from `save_versions`',
    'drop table `save_versions`',
    'alter table `save_versions_by_row` rename to `save_versions`',
    'create index save_versions_sha256_index on save_versions (sha256) where sha256 is not null',
  ],
  postgres: [],
}

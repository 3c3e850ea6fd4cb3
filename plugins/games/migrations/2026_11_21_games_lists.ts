import type { Migration } from '../../../core/data/migrations.ts'

export const listsMigration: Migration = {
  name: '2026_11_21_games_lists',
  sqlite: [
    'drop index `games_visibility_plays_id_index`',
    'drop index `games_visibility_id_index`',
    'drop index `games_owner_id_id_index`',
    'drop index `games_deleted_at_index`',
    'create index `games_deleted_at_id_index` on `games` (`deleted_at`, `id`)',
    'create index `games_owner_id_deleted_at_id_index` on `games` (`owner_id`, `deleted_at`, `id`)',
    'create index `games_visibility_deleted_at_id_index` on `games` (`visibility`, `deleted_at`, `id`)',
    'create index `games_visibility_deleted_at_plays_id_index` on `games` (`visibility`, `deleted_at`, `plays`, `id`)',
  ],
  postgres: [
    'drop index "games_deleted_at_index"',
    'drop index "games_owner_id_id_index"',
    'drop index "games_visibility_id_index"',
    'drop index "games_visibility_plays_id_index"',
    'create index "games_deleted_at_id_index" on "games" ("deleted_at", "id")',
    'create index "games_owner_id_deleted_at_id_index" on "games" ("owner_id", "deleted_at", "id")',
    'create index "games_visibility_deleted_at_id_index" on "games" ("visibility", "deleted_at", "id")',
    'create index "games_visibility_deleted_at_plays_id_index" on "games" ("visibility", "deleted_at", "plays", "id")',
  ],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const playableListsMigration: Migration = {
  name: '2026_11_23_playable_lists',
  sqlite: [
    'create index `games_listed_id_index` on `games` (`visibility`, `deleted_at`, `id`) where playable and suspended_at is null and (live_deploy_id is not null or external_url is not null)',
    'create index `games_listed_plays_index` on `games` (`visibility`, `deleted_at`, `plays`, `id`) where playable and suspended_at is null and (live_deploy_id is not null or external_url is not null)',
    'create index `games_slug_deleted_at_id_index` on `games` (`slug`, `deleted_at`, `id`)',
    'drop index `games_slug_index`',
  ],
  postgres: [
    'create index "games_listed_id_index" on "games" ("visibility", "deleted_at", "id") where playable and suspended_at is null and (live_deploy_id is not null or external_url is not null)',
    'create index "games_listed_plays_index" on "games" ("visibility", "deleted_at", "plays", "id") where playable and suspended_at is null and (live_deploy_id is not null or external_url is not null)',
    'create index "games_slug_deleted_at_id_index" on "games" ("slug", "deleted_at", "id")',
    'drop index "games_slug_index"',
  ],
}

import type { Migration } from '../../../core/data/migrations.ts'

/** Indexes of look-ups that read a whole table. */
export const lookUpsMigration: Migration = {
  name: '2026_11_29_look_ups',
  sqlite: [
    'create index `one_time_tokens_email_index` on `one_time_tokens` (`email`)',
    'create index `players_is_admin_disabled_id_index` on `players` (`is_admin`, `disabled`, `id`)',
  ],
  postgres: [
    'create index "one_time_tokens_email_index" on "one_time_tokens" ("email")',
    'create index "players_is_admin_disabled_id_index" on "players" ("is_admin", "disabled", "id")',
  ],
}

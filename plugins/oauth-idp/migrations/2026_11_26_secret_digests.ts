import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_secret_digests',
  sqlite: [
    'create index `oauth_apps_secret_hash_index` on `oauth_apps` (`secret_hash`)',
    'create index `oauth_apps_old_secret_hash_index` on `oauth_apps` (`old_secret_hash`)',
  ],
  postgres: [
    'create index "oauth_apps_secret_hash_index" on "oauth_apps" ("secret_hash")',
    'create index "oauth_apps_old_secret_hash_index" on "oauth_apps" ("old_secret_hash")',
  ],
}

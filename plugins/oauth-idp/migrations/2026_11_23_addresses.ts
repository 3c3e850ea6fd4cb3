import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_23_addresses',
  sqlite: [
    'alter table `oauth_apps` add column `served_uris` json null',
    'alter table `passkeys` add column `rp_id` text null',
  ],
  postgres: [
    'alter table "oauth_apps" add "served_uris" jsonb null',
    'alter table "passkeys" add "rp_id" varchar(253) null',
  ],
}

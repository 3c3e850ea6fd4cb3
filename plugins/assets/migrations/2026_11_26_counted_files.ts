import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_counted_files',
  sqlite: [
    'alter table `assets` add column `file_count` integer null',
    'alter table `assets` add column `file_bytes` bigint null',
    'alter table `former_asset_slugs` add column `freed_at` datetime null',
    'create index `former_asset_slugs_owner_id_freed_at_index` on `former_asset_slugs` (`owner_id`, `freed_at`)',
  ],
  postgres: [
    'alter table "assets" add "file_count" int null, add "file_bytes" bigint null',
    'alter table "former_asset_slugs" add "freed_at" timestamptz(3) null',
    'create index "former_asset_slugs_owner_id_freed_at_index" on "former_asset_slugs" ("owner_id", "freed_at")',
  ],
}

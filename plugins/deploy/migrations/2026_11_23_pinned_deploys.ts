import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_23_pinned_deploys',
  sqlite: [
    'alter table `deploys` add column `pinned` integer not null default false',
    'create index `deploys_owner_id_id_index` on `deploys` (`owner_id`, `id`)',
  ],
  postgres: [
    'alter table "deploys" add "pinned" boolean not null default false',
    'create index "deploys_owner_id_id_index" on "deploys" ("owner_id", "id")',
  ],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_pending_values',
  sqlite: ['alter table `save_blobs` add column `pending` integer not null default 0'],
  postgres: ['alter table "save_blobs" add column "pending" int not null default 0'],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_unread_versions',
  sqlite: ['alter table `save_versions` add column `unread` integer not null default 0'],
  postgres: ['alter table "save_versions" add "unread" int not null default 0'],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_23_moderators',
  sqlite: ['alter table `players` add column `moderator` integer not null default false'],
  postgres: ['alter table "players" add "moderator" boolean not null default false'],
}

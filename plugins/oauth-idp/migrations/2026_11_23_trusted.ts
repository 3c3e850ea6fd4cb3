import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_23_trusted_players',
  sqlite: ['alter table `players` add column `trusted` integer not null default false'],
  postgres: ['alter table "players" add "trusted" boolean not null default false'],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_disabled_cause',
  sqlite: ['alter table `players` add column `disabled_cause` text null'],
  postgres: ['alter table "players" add "disabled_cause" varchar(30) null'],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_long_names',
  sqlite: [],
  postgres: [
    'alter table "passkeys" alter column "label" type varchar(240)',
    'alter table "players" alter column "name" type varchar(240)',
  ],
}

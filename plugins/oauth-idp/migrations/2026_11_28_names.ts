import type { Migration } from '../../../core/data/migrations.ts'

/** The look-up of players by the beginning of their name. "C" orders by code point, as SQLite does. */
export const namesMigration: Migration = {
  name: '2026_11_28_names',
  sqlite: ['create index players_name_index on players (lower(name), id) where not guest and not disabled'],
  postgres: [
    'create index players_name_index on players (lower(name) collate "C", id) where not guest and not disabled',
  ],
}

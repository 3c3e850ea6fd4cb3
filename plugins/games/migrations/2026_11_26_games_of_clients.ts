import type { Migration } from '../../../core/data/migrations.ts'

export const gamesOfClientsMigration: Migration = {
  name: '2026_11_26_games_of_clients',
  sqlite: ['create index `games_client_id_index` on `games` (`client_id`)'],
  postgres: ['create index "games_client_id_index" on "games" ("client_id")'],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const activityOfPlayersMigration: Migration = {
  name: '2026_11_28_activity_of_players',
  sqlite: ['create index `game_activity_player_id_id_index` on `game_activity` (`player_id`, `id`)'],
  postgres: ['create index "game_activity_player_id_id_index" on "game_activity" ("player_id", "id")'],
}

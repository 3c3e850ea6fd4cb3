import type { Migration } from '../../../core/data/migrations.ts'

export const deploysOfPlayersMigration: Migration = {
  name: '2026_11_28_deploys_of_players',
  sqlite: ['create index `deploys_player_id_id_index` on `deploys` (`player_id`, `id`)'],
  postgres: ['create index "deploys_player_id_id_index" on "deploys" ("player_id", "id")'],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_player_boards',
  sqlite: [
    'drop index `score_entries_player_id_index`',
    'create index `score_entries_player_id_board_period_index` on `score_entries` (`player_id`, `board`, `period`)',
  ],
  postgres: [
    'drop index "score_entries_player_id_index"',
    'create index "score_entries_player_id_board_period_index" on "score_entries" ("player_id", "board", "period")',
  ],
}

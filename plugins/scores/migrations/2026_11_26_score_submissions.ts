import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_score_submissions',
  sqlite: [
    'create table `score_submissions` (`board` text not null, `player_id` text not null, `id` text not null, `at` datetime not null, primary key (`board`, `player_id`, `id`))',
    'create index `score_submissions_player_id_index` on `score_submissions` (`player_id`)',
    'create index `score_submissions_at_index` on `score_submissions` (`at`)',
  ],
  postgres: [
    'create table "score_submissions" ("board" varchar(12) not null, "player_id" varchar(30) not null, "id" varchar(64) not null, "at" timestamptz(3) not null, primary key ("board", "player_id", "id"))',
    'create index "score_submissions_player_id_index" on "score_submissions" ("player_id")',
    'create index "score_submissions_at_index" on "score_submissions" ("at")',
  ],
}

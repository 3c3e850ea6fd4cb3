import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_23_room_log_lines',
  sqlite: [
    'create table `room_log_lines` (`id` text not null primary key, `game_id` text not null, `at` datetime not null, `level` text not null, `room_id` text not null, `deploy_id` text not null, `text` text not null, `line` integer null, `column_number` integer null, `stack` text null)',
    'create index `room_log_lines_game_id_id_index` on `room_log_lines` (`game_id`, `id`)',
  ],
  postgres: [
    'create table "room_log_lines" ("id" varchar(30) not null, "game_id" varchar(30) not null, "at" timestamptz(3) not null, "level" varchar(5) not null, "room_id" varchar(64) not null, "deploy_id" varchar(30) not null, "text" text not null, "line" int null, "column_number" int null, "stack" text null, primary key ("id"))',
    'create index "room_log_lines_game_id_id_index" on "room_log_lines" ("game_id", "id")',
  ],
}

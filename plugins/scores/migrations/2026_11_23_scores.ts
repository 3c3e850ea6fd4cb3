import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_23_scores',
  sqlite: [
    'create table `score_boards` (`key` text not null primary key, `game_id` text not null, `id` text not null, `title` text not null, `order` text not null, `format` text not null, `decimals` integer not null, `keep` text not null, `reset` text not null, `min` bigint null, `max` bigint null, `writers` text not null, `revision` integer not null, `created_at` datetime not null, `updated_at` datetime not null)',
    'create unique index `score_boards_game_id_id_unique` on `score_boards` (`game_id`, `id`)',
    'create table `score_days` (`board` text not null, `date` text not null, `submissions` integer not null, primary key (`board`, `date`))',
    'create index `score_days_date_index` on `score_days` (`date`)',
    'create table `score_deletions` (`board` text not null primary key)',
    'create table `score_entries` (`board` text not null, `period` integer not null, `player_id` text not null, `score` bigint not null, `sort_key` bigint null, `detail` text null, `at` datetime not null, primary key (`board`, `period`, `player_id`))',
    'create index `score_entries_board_period_sort_key_at_player_id_index` on `score_entries` (`board`, `period`, `sort_key`, `at`, `player_id`)',
    'create index `score_entries_player_id_index` on `score_entries` (`player_id`)',
    'create table `score_exclusions` (`board` text not null, `player_id` text not null, `at` datetime not null, primary key (`board`, `player_id`))',
    'create index `score_exclusions_player_id_index` on `score_exclusions` (`player_id`)',
    'create table `score_nodes` (`board` text not null, `period` integer not null, `level` integer not null, `low` bigint not null, `entries` integer not null, primary key (`board`, `period`, `level`, `low`))',
  ],
  postgres: [
    'create table "score_boards" ("key" varchar(12) not null, "game_id" varchar(30) not null, "id" varchar(40) not null, "title" varchar(120) not null, "order" varchar(4) not null, "format" varchar(12) not null, "decimals" int not null, "keep" varchar(4) not null, "reset" varchar(7) not null, "min" bigint null, "max" bigint null, "writers" varchar(7) not null, "revision" int not null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, primary key ("key"))',
    'alter table "score_boards" add constraint "score_boards_game_id_id_unique" unique ("game_id", "id")',
    'create table "score_days" ("board" varchar(12) not null, "date" varchar(10) not null, "submissions" int not null, primary key ("board", "date"))',
    'create index "score_days_date_index" on "score_days" ("date")',
    'create table "score_deletions" ("board" varchar(12) not null, primary key ("board"))',
    'create table "score_entries" ("board" varchar(12) not null, "period" int not null, "player_id" varchar(30) not null, "score" bigint not null, "sort_key" bigint null, "detail" text null, "at" timestamptz(3) not null, primary key ("board", "period", "player_id"))',
    'create index "score_entries_board_period_sort_key_at_player_id_index" on "score_entries" ("board", "period", "sort_key", "at", "player_id")',
    'create index "score_entries_player_id_index" on "score_entries" ("player_id")',
    'create table "score_exclusions" ("board" varchar(12) not null, "player_id" varchar(30) not null, "at" timestamptz(3) not null, primary key ("board", "player_id"))',
    'create index "score_exclusions_player_id_index" on "score_exclusions" ("player_id")',
    'create table "score_nodes" ("board" varchar(12) not null, "period" int not null, "level" int not null, "low" bigint not null, "entries" int not null, primary key ("board", "period", "level", "low"))',
  ],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_21_jam',
  sqlite: [
    'create table `jam_entries` (`jam_id` text not null, `game_id` text not null, `submitted_at` datetime not null, primary key (`jam_id`, `game_id`))',
    'create index `jam_entries_game_id_index` on `jam_entries` (`game_id`)',
    'create table `jams` (`id` text not null primary key, `title` text not null, `theme` text not null, `categories` json not null, `submissions_open` integer not null, `voting_open` integer not null, `revealed` integer not null, `created_at` datetime not null, `updated_at` datetime not null)',
    'create table `jam_votes` (`jam_id` text not null, `category_id` text not null, `voter_id` text not null, `game_id` text not null, `cast_at` datetime not null, primary key (`jam_id`, `category_id`, `voter_id`))',
    'create index `jam_votes_game_id_index` on `jam_votes` (`game_id`)',
    'create index `jam_votes_voter_id_index` on `jam_votes` (`voter_id`)',
  ],
  postgres: [
    'create table "jam_entries" ("jam_id" varchar(30) not null, "game_id" varchar(30) not null, "submitted_at" timestamptz(3) not null, primary key ("jam_id", "game_id"))',
    'create index "jam_entries_game_id_index" on "jam_entries" ("game_id")',
    'create table "jams" ("id" varchar(30) not null, "title" varchar(120) not null, "theme" varchar(200) not null, "categories" jsonb not null, "submissions_open" boolean not null, "voting_open" boolean not null, "revealed" int not null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, primary key ("id"))',
    'create table "jam_votes" ("jam_id" varchar(30) not null, "category_id" varchar(40) not null, "voter_id" varchar(30) not null, "game_id" varchar(30) not null, "cast_at" timestamptz(3) not null, primary key ("jam_id", "category_id", "voter_id"))',
    'create index "jam_votes_game_id_index" on "jam_votes" ("game_id")',
    'create index "jam_votes_voter_id_index" on "jam_votes" ("voter_id")',
  ],
}

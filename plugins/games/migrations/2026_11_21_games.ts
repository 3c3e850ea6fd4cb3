import type { Migration } from '../../../core/migrations.ts'

export const migration: Migration = {
  name: '2026_11_21_games',
  sqlite: [
    'create table `games` (`id` text not null primary key, `owner_id` text not null, `slug` text not null, `title` text not null, `description` text not null, `tags` json not null, `visibility` text not null, `playable` integer not null, `external_url` text null, `client_id` text not null, `live_deploy_id` text null, `port` integer null, `settings` json not null, `plays` integer not null, `sign_ins` integer not null, `created_at` datetime not null, `updated_at` datetime not null, `deleted_at` datetime null)',
    'create index `games_slug_index` on `games` (`slug`)',
    'create unique index `games_port_unique` on `games` (`port`)',
    'create index `games_owner_id_id_index` on `games` (`owner_id`, `id`)',
    'create index `games_visibility_id_index` on `games` (`visibility`, `id`)',
    'create index `games_visibility_plays_id_index` on `games` (`visibility`, `plays`, `id`)',
    'create table `game_slugs` (`slug` text not null primary key, `game_id` text not null, `freed_at` datetime null)',
    'create index `game_slugs_game_id_index` on `game_slugs` (`game_id`)',
    'create table `game_terms` (`term` text not null, `game_id` text not null, primary key (`term`, `game_id`))',
    'create index `game_terms_game_id_index` on `game_terms` (`game_id`)',
  ],
  postgres: [
    'create table "games" ("id" varchar(30) not null, "owner_id" varchar(30) not null, "slug" varchar(63) not null, "title" varchar(120) not null, "description" text not null, "tags" jsonb not null, "visibility" varchar(7) not null, "playable" boolean not null, "external_url" varchar(2000) null, "client_id" varchar(64) not null, "live_deploy_id" varchar(30) null, "port" int null, "settings" jsonb not null, "plays" int not null, "sign_ins" int not null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, "deleted_at" timestamptz(3) null, primary key ("id"))',
    'create index "games_slug_index" on "games" ("slug")',
    'alter table "games" add constraint "games_port_unique" unique ("port")',
    'create index "games_owner_id_id_index" on "games" ("owner_id", "id")',
    'create index "games_visibility_id_index" on "games" ("visibility", "id")',
    'create index "games_visibility_plays_id_index" on "games" ("visibility", "plays", "id")',
    'create table "game_slugs" ("slug" varchar(63) not null, "game_id" varchar(30) not null, "freed_at" timestamptz(3) null, primary key ("slug"))',
    'create index "game_slugs_game_id_index" on "game_slugs" ("game_id")',
    'create table "game_terms" ("term" varchar(31) not null, "game_id" varchar(30) not null, primary key ("term", "game_id"))',
    'create index "game_terms_game_id_index" on "game_terms" ("game_id")',
  ],
}

import type { Migration } from '../../../core/data/migrations.ts'

// On SQLite the rows are in the order of their primary keys (`without rowid`), so that a write changes as few pages as
// possible, however many rows there are.
export const migration: Migration = {
  name: '2026_11_23_saves',
  sqlite: [
    'create table `save_usage` (`player_id` text not null, `game_id` text not null, `keys` integer not null, `bytes` bigint not null, `kept_bytes` bigint not null, `counted_bytes` bigint not null, `counted` integer not null, `version_floor` integer not null, primary key (`player_id`, `game_id`)) without rowid',
    'create index `save_usage_game_id_index` on `save_usage` (`game_id`)',
    'create index save_usage_uncounted_index on save_usage (counted) where not counted',
    'create table `saves` (`game_id` text not null, `player_id` text not null, `key` text not null, `version` integer not null, `size` integer not null, `content_type` text not null, `updated_at` datetime not null, `deleted_at` datetime null, `history_due_at` datetime null, primary key (`game_id`, `player_id`, `key`)) without rowid',
    'create index saves_history_due_at_index on saves (history_due_at) where history_due_at is not null',
    'create table `save_versions` (`game_id` text not null, `player_id` text not null, `key` text not null, `version` integer not null, `size` integer not null, `content_type` text not null, `created_at` datetime not null, `sha256` text null, `value` blob null, primary key (`game_id`, `player_id`, `key`, `version`)) without rowid',
    'create index save_versions_sha256_index on save_versions (sha256) where sha256 is not null',
    'create table `save_blobs` (`sha256` text not null primary key, `used_at` datetime not null, `condemned_at` datetime null)',
  ],
  postgres: [
    'create table "save_usage" ("player_id" varchar(30) not null, "game_id" varchar(30) not null, "keys" int not null, "bytes" bigint not null, "kept_bytes" bigint not null, "counted_bytes" bigint not null, "counted" boolean not null, "version_floor" int not null, primary key ("player_id", "game_id"))',
    'create index "save_usage_game_id_index" on "save_usage" ("game_id")',
    'create index save_usage_uncounted_index on save_usage (counted) where not counted',
    'create table "saves" ("game_id" varchar(30) not null, "player_id" varchar(30) not null, "key" varchar(64) not null, "version" int not null, "size" int not null, "content_type" varchar(255) not null, "updated_at" timestamptz(3) not null, "deleted_at" timestamptz(3) null, "history_due_at" timestamptz(3) null, primary key ("game_id", "player_id", "key"))',
    'create index saves_history_due_at_index on saves (history_due_at) where history_due_at is not null',
    'create table "save_versions" ("game_id" varchar(30) not null, "player_id" varchar(30) not null, "key" varchar(64) not null, "version" int not null, "size" int not null, "content_type" varchar(255) not null, "created_at" timestamptz(3) not null, "sha256" varchar(64) null, "value" bytea null, primary key ("game_id", "player_id", "key", "version"))',
    'create index save_versions_sha256_index on save_versions (sha256) where sha256 is not null',
    'create table "save_blobs" ("sha256" varchar(64) not null, "used_at" timestamptz(3) not null, "condemned_at" timestamptz(3) null, primary key ("sha256"))',
  ],
}

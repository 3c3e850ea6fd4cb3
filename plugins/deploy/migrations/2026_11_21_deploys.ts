import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_21_deploys',
  sqlite: [
    'create table `blobs` (`sha256` text not null primary key, `used_at` datetime not null, `condemned_at` datetime null)',
    'create index `blobs_used_at_index` on `blobs` (`used_at`)',
    'create index `blobs_condemned_at_index` on `blobs` (`condemned_at`)',
    'create table `deploys` (`id` text not null primary key, `game_id` text not null, `owner_id` text not null, `state` text not null, `message` text null, `file_count` integer not null, `unchanged_count` integer not null, `total_bytes` bigint not null, `created_at` datetime not null, `expires_at` datetime not null, `live_at` datetime null)',
    'create index `deploys_game_id_id_index` on `deploys` (`game_id`, `id`)',
    'create index `deploys_state_expires_at_index` on `deploys` (`state`, `expires_at`)',
    'create table `deploy_uploads` (`deploy_id` text not null, `sha256` text not null, primary key (`deploy_id`, `sha256`))',
    'create table `deploy_manifests` (`deploy_id` text not null primary key, `files` text not null)',
    'create table `owner_blobs` (`owner_id` text not null, `sha256` text not null, primary key (`owner_id`, `sha256`))',
    'create index `owner_blobs_sha256_index` on `owner_blobs` (`sha256`)',
  ],
  postgres: [
    'create table "blobs" ("sha256" varchar(64) not null, "used_at" timestamptz(3) not null, "condemned_at" timestamptz(3) null, primary key ("sha256"))',
    'create index "blobs_used_at_index" on "blobs" ("used_at")',
    'create index "blobs_condemned_at_index" on "blobs" ("condemned_at")',
    'create table "deploys" ("id" varchar(30) not null, "game_id" varchar(30) not null, "owner_id" varchar(30) not null, "state" varchar(10) not null, "message" varchar(500) null, "file_count" int not null, "unchanged_count" int not null, "total_bytes" bigint not null, "created_at" timestamptz(3) not null, "expires_at" timestamptz(3) not null, "live_at" timestamptz(3) null, primary key ("id"))',
    'create index "deploys_game_id_id_index" on "deploys" ("game_id", "id")',
    'create index "deploys_state_expires_at_index" on "deploys" ("state", "expires_at")',
    'create table "deploy_uploads" ("deploy_id" varchar(30) not null, "sha256" varchar(64) not null, primary key ("deploy_id", "sha256"))',
    'create table "deploy_manifests" ("deploy_id" varchar(30) not null, "files" text not null, primary key ("deploy_id"))',
    'create table "owner_blobs" ("owner_id" varchar(30) not null, "sha256" varchar(64) not null, primary key ("owner_id", "sha256"))',
    'create index "owner_blobs_sha256_index" on "owner_blobs" ("sha256")',
  ],
}

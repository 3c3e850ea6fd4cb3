import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_23_drafts',
  sqlite: [
    'create table `draft_files` (`game_id` text not null, `path` text not null, `revision` integer not null, `sha256` text null, `size` bigint not null, `updated_at` datetime not null, `updated_by` text not null, primary key (`game_id`, `path`))',
    'create index `draft_files_sha256_index` on `draft_files` (`sha256`)',
    'create table `drafts` (`game_id` text not null primary key, `id` text not null, `base_deploy_id` text null, `revision` integer not null, `room` text null, `updated_at` datetime not null, `updated_by` text not null)',
    'create unique index `drafts_id_unique` on `drafts` (`id`)',
  ],
  postgres: [
    'create table "draft_files" ("game_id" varchar(30) not null, "path" varchar(512) not null, "revision" int not null, "sha256" varchar(64) null, "size" bigint not null, "updated_at" timestamptz(3) not null, "updated_by" varchar(30) not null, primary key ("game_id", "path"))',
    'create index "draft_files_sha256_index" on "draft_files" ("sha256")',
    'create table "drafts" ("game_id" varchar(30) not null, "id" varchar(30) not null, "base_deploy_id" varchar(30) null, "revision" int not null, "room" varchar(512) null, "updated_at" timestamptz(3) not null, "updated_by" varchar(30) not null, primary key ("game_id"))',
    'alter table "drafts" add constraint "drafts_id_unique" unique ("id")',
  ],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_21_assets',
  sqlite: [
    'create table `asset_clips` (`asset_id` text not null, `preset` text not null, `sha256` text not null, `size` integer not null, primary key (`asset_id`, `preset`))',
    'create table `assets` (`id` text not null primary key, `owner_id` text not null, `slug` text not null, `title` text not null, `description` text not null, `kind` text not null, `visibility` text not null, `curated` integer not null, `license` text null, `tags` json not null, `files` json not null, `size` bigint not null, `triangles` integer null, `rigged` integer not null, `humanoid` integer not null, `animations` json not null, `lod_sha256` text null, `lod_size` integer null, `lod_triangles` integer null, `thumbnail_sha256` text null, `source_kind` text not null, `source_job_id` text null, `created_at` datetime not null, `updated_at` datetime not null)',
    'create unique index `assets_slug_unique` on `assets` (`slug`)',
    'create unique index `assets_source_job_id_unique` on `assets` (`source_job_id`)',
    'create index `assets_owner_id_id_index` on `assets` (`owner_id`, `id`)',
    'create index `assets_visibility_id_index` on `assets` (`visibility`, `id`)',
    'create index `assets_visibility_kind_id_index` on `assets` (`visibility`, `kind`, `id`)',
    'create table `asset_terms` (`term` text not null, `asset_id` text not null, `is_tag` integer not null, primary key (`term`, `asset_id`))',
    'create index `asset_terms_asset_id_index` on `asset_terms` (`asset_id`)',
    'create index `asset_terms_is_tag_term_index` on `asset_terms` (`is_tag`, `term`)',
    'create table `former_asset_slugs` (`slug` text not null primary key, `asset_id` text not null, `owner_id` text not null)',
  ],
  postgres: [
    'create table "asset_clips" ("asset_id" varchar(30) not null, "preset" varchar(20) not null, "sha256" varchar(64) not null, "size" int not null, primary key ("asset_id", "preset"))',
    'create table "assets" ("id" varchar(30) not null, "owner_id" varchar(30) not null, "slug" varchar(63) not null, "title" varchar(120) not null, "description" text not null, "kind" varchar(9) not null, "visibility" varchar(7) not null, "curated" boolean not null, "license" varchar(100) null, "tags" jsonb not null, "files" jsonb not null, "size" bigint not null, "triangles" int null, "rigged" boolean not null, "humanoid" boolean not null, "animations" jsonb not null, "lod_sha256" varchar(64) null, "lod_size" int null, "lod_triangles" int null, "thumbnail_sha256" varchar(64) null, "source_kind" varchar(10) not null, "source_job_id" varchar(30) null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, primary key ("id"))',
    'alter table "assets" add constraint "assets_slug_unique" unique ("slug")',
    'alter table "assets" add constraint "assets_source_job_id_unique" unique ("source_job_id")',
    'create index "assets_owner_id_id_index" on "assets" ("owner_id", "id")',
    'create index "assets_visibility_id_index" on "assets" ("visibility", "id")',
    'create index "assets_visibility_kind_id_index" on "assets" ("visibility", "kind", "id")',
    'create table "asset_terms" ("term" varchar(31) not null, "asset_id" varchar(30) not null, "is_tag" boolean not null, primary key ("term", "asset_id"))',
    'create index "asset_terms_asset_id_index" on "asset_terms" ("asset_id")',
    'create index "asset_terms_is_tag_term_index" on "asset_terms" ("is_tag", "term")',
    'create table "former_asset_slugs" ("slug" varchar(63) not null, "asset_id" varchar(30) not null, "owner_id" varchar(30) not null, primary key ("slug"))',
  ],
}

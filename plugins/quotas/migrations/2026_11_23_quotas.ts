import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_23_quotas',
  sqlite: [
    'create table `quota_accounts` (`owner_id` text not null primary key, `changes` bigint not null, `upload_day` text not null, `upload_bytes` bigint not null)',
    'create table `quota_overrides` (`owner_id` text not null primary key, `limits` json not null, `updated_at` datetime not null)',
    'create table `quota_shared_blobs` (`owner_id` text not null, `kind` text not null, `sha256` text not null, `bytes` bigint not null, `refs` integer not null, primary key (`owner_id`, `kind`, `sha256`, `bytes`))',
    'create table `quota_stored_bytes` (`owner_id` text not null, `kind` text not null, `bytes` bigint not null, primary key (`owner_id`, `kind`))',
  ],
  postgres: [
    'create table "quota_accounts" ("owner_id" varchar(30) not null, "changes" bigint not null, "upload_day" varchar(10) not null, "upload_bytes" bigint not null, primary key ("owner_id"))',
    'create table "quota_overrides" ("owner_id" varchar(30) not null, "limits" jsonb not null, "updated_at" timestamptz(3) not null, primary key ("owner_id"))',
    'create table "quota_shared_blobs" ("owner_id" varchar(30) not null, "kind" varchar(20) not null, "sha256" varchar(64) not null, "bytes" bigint not null, "refs" int not null, primary key ("owner_id", "kind", "sha256", "bytes"))',
    'create table "quota_stored_bytes" ("owner_id" varchar(30) not null, "kind" varchar(20) not null, "bytes" bigint not null, primary key ("owner_id", "kind"))',
  ],
}

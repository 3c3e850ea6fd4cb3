import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_21_blender_jobs',
  sqlite: [
    'create table `blender_generations` (`id` text not null primary key, `owner_id` text not null, `status` text not null, `name` text not null, `template` text null, `parameters` json not null, `starters` json not null, `visibility` text not null, `prompt` text null, `round` integer not null, `job_id` text null, `asset_id` text null, `error_code` text null, `error_message` text null, `created_at` datetime not null)',
    'create index `blender_generations_owner_id_index` on `blender_generations` (`owner_id`)',
    'create table `blender_jobs` (`id` text not null primary key, `owner_id` text not null, `purpose` text not null, `name` text not null, `action` text not null, `status` text not null, `progress` double not null, `stage` text null, `template` text null, `parameters` json not null, `starter_assets` json not null, `face_limit` integer not null, `source_job_id` text null, `attempts` integer not null, `turn` integer not null, `queued_at` datetime not null, `started_at` datetime null, `finished_at` datetime null, `lease_id` text null, `lease_ends_at` datetime null, `error_code` text null, `error_message` text null, `artifacts` json not null, `asset_id` text null, `generation_id` text null)',
    'create index `blender_jobs_status_turn_id_index` on `blender_jobs` (`status`, `turn`, `id`)',
    'create index `blender_jobs_owner_id_status_id_index` on `blender_jobs` (`owner_id`, `status`, `id`)',
    'create index `blender_jobs_owner_id_id_index` on `blender_jobs` (`owner_id`, `id`)',
    'create table `blender_job_texts` (`job_id` text not null primary key, `script` text null, `log` text not null)',
    'create table `blender_turns` (`id` text not null primary key, `turn` integer not null)',
    'create table `blender_workers` (`id` text not null primary key, `executor` text not null, `capacity` integer not null, `blender_version` text not null, `seen_at` datetime not null)',
    'create index `blender_workers_seen_at_index` on `blender_workers` (`seen_at`)',
    // The only row, which claims and submissions lock.
    "insert into blender_turns (id, turn) values ('now', 0)",
  ],
  postgres: [
    'create table "blender_generations" ("id" varchar(30) not null, "owner_id" varchar(30) not null, "status" varchar(10) not null, "name" varchar(120) not null, "template" varchar(40) null, "parameters" jsonb not null, "starters" jsonb not null, "visibility" varchar(10) not null, "prompt" text null, "round" int not null, "job_id" varchar(30) null, "asset_id" varchar(30) null, "error_code" varchar(40) null, "error_message" text null, "created_at" timestamptz(3) not null, primary key ("id"))',
    'create index "blender_generations_owner_id_index" on "blender_generations" ("owner_id")',
    'create table "blender_jobs" ("id" varchar(30) not null, "owner_id" varchar(30) not null, "purpose" varchar(12) not null, "name" varchar(120) not null, "action" varchar(10) not null, "status" varchar(10) not null, "progress" double precision not null, "stage" varchar(200) null, "template" varchar(40) null, "parameters" jsonb not null, "starter_assets" jsonb not null, "face_limit" int not null, "source_job_id" varchar(30) null, "attempts" int not null, "turn" int not null, "queued_at" timestamptz(3) not null, "started_at" timestamptz(3) null, "finished_at" timestamptz(3) null, "lease_id" varchar(30) null, "lease_ends_at" timestamptz(3) null, "error_code" varchar(40) null, "error_message" text null, "artifacts" jsonb not null, "asset_id" varchar(30) null, "generation_id" varchar(30) null, primary key ("id"))',
    'create index "blender_jobs_status_turn_id_index" on "blender_jobs" ("status", "turn", "id")',
    'create index "blender_jobs_owner_id_status_id_index" on "blender_jobs" ("owner_id", "status", "id")',
    'create index "blender_jobs_owner_id_id_index" on "blender_jobs" ("owner_id", "id")',
    'create table "blender_job_texts" ("job_id" varchar(30) not null, "script" text null, "log" text not null, primary key ("job_id"))',
    'create table "blender_turns" ("id" varchar(10) not null, "turn" int not null, primary key ("id"))',
    'create table "blender_workers" ("id" varchar(30) not null, "executor" varchar(40) not null, "capacity" int not null, "blender_version" varchar(40) not null, "seen_at" timestamptz(3) not null, primary key ("id"))',
    'create index "blender_workers_seen_at_index" on "blender_workers" ("seen_at")',
    "insert into blender_turns (id, turn) values ('now', 0)",
  ],
}

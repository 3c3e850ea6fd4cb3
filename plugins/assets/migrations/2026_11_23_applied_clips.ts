import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_23_applied_clips',
  sqlite: [
    'create table `asset_applied_clips` (`asset_id` text not null, `from_id` text not null, `clip` text not null, `made_by` integer not null, `sha256` text not null, `size` integer not null, primary key (`asset_id`, `from_id`, `clip`))',
    'alter table `assets` add column `lod_reason` text null',
    'alter table `assets` add column `prepared_by` integer null',
  ],
  postgres: [
    'create table "asset_applied_clips" ("asset_id" varchar(30) not null, "from_id" varchar(30) not null, "clip" varchar(200) not null, "made_by" int not null, "sha256" varchar(64) not null, "size" int not null, primary key ("asset_id", "from_id", "clip"))',
    'alter table "assets" add "lod_reason" varchar(20) null, add "prepared_by" int null',
  ],
}

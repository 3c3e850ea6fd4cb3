import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_24_game_remixes',
  sqlite: [
    'create table `game_remixes` (`game_id` text not null primary key, `source_game_id` text not null, `source_title` text not null, `source_owner_id` text null, `created_at` datetime not null)',
    'create index `game_remixes_source_owner_id_index` on `game_remixes` (`source_owner_id`)',
  ],
  postgres: [
    'create table "game_remixes" ("game_id" varchar(30) not null, "source_game_id" varchar(30) not null, "source_title" varchar(120) not null, "source_owner_id" varchar(30) null, "created_at" timestamptz(3) not null, primary key ("game_id"))',
    'create index "game_remixes_source_owner_id_index" on "game_remixes" ("source_owner_id")',
  ],
}

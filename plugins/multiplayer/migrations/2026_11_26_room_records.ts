import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_room_records',
  sqlite: [
    'create table `room_records` (`id` text not null primary key, `game_id` text not null, `saved_at` datetime not null, `snapshot` text not null)',
    'create index `room_records_game_id_index` on `room_records` (`game_id`)',
    'create index `room_records_saved_at_index` on `room_records` (`saved_at`)',
  ],
  postgres: [
    'create table "room_records" ("id" varchar(200) not null, "game_id" varchar(30) not null, "saved_at" timestamptz(3) not null, "snapshot" text not null, primary key ("id"))',
    'create index "room_records_game_id_index" on "room_records" ("game_id")',
    'create index "room_records_saved_at_index" on "room_records" ("saved_at")',
  ],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_29_game_errors',
  sqlite: [
    'create table `game_errors` (`id` text not null primary key, `game_id` text not null, `fingerprint` text not null, `deploy_id` text null, `message` text not null, `path` text null, `line` integer null, `column_number` integer null, `stack` text null, `browser` text not null, `count` integer not null, `first_at` datetime not null, `last_at` datetime not null)',
    'create index `game_errors_last_at_index` on `game_errors` (`last_at`)',
    'create index `game_errors_game_id_last_at_index` on `game_errors` (`game_id`, `last_at`)',
    'create unique index `game_errors_game_id_fingerprint_unique` on `game_errors` (`game_id`, `fingerprint`)',
  ],
  postgres: [
    'create table "game_errors" ("id" varchar(30) not null, "game_id" varchar(30) not null, "fingerprint" varchar(22) not null, "deploy_id" varchar(30) null, "message" varchar(500) not null, "path" varchar(500) null, "line" int null, "column_number" int null, "stack" text null, "browser" varchar(40) not null, "count" int not null, "first_at" timestamptz(3) not null, "last_at" timestamptz(3) not null, primary key ("id"))',
    'create index "game_errors_last_at_index" on "game_errors" ("last_at")',
    'create index "game_errors_game_id_last_at_index" on "game_errors" ("game_id", "last_at")',
    'alter table "game_errors" add constraint "game_errors_game_id_fingerprint_unique" unique ("game_id", "fingerprint")',
  ],
}

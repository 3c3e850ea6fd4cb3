import type { Migration } from '../../../core/data/migrations.ts'

export const activityMigration: Migration = {
  name: '2026_11_24_game_activity',
  sqlite: [
    'create table `game_activity` (`id` text not null primary key, `game_id` text not null, `action` text not null, `target` text null, `detail` text null, `author_kind` text not null, `player_id` text null, `author_name` text null, `tool` text null, `at` datetime not null)',
    'create index `game_activity_game_id_id_index` on `game_activity` (`game_id`, `id`)',
    'create index `game_activity_at_index` on `game_activity` (`at`)',
  ],
  postgres: [
    'create table "game_activity" ("id" varchar(30) not null, "game_id" varchar(30) not null, "action" varchar(40) not null, "target" varchar(253) null, "detail" varchar(500) null, "author_kind" varchar(10) not null, "player_id" varchar(30) null, "author_name" varchar(120) null, "tool" varchar(40) null, "at" timestamptz(3) not null, primary key ("id"))',
    'create index "game_activity_game_id_id_index" on "game_activity" ("game_id", "id")',
    'create index "game_activity_at_index" on "game_activity" ("at")',
  ],
}

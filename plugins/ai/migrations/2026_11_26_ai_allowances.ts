import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_ai_allowances',
  sqlite: [
    'create table `ai_allowances` (`player_id` text not null, `game_id` text not null, `credits_per_day` integer not null, `created_at` datetime not null, primary key (`player_id`, `game_id`))',
    'create index `ai_allowances_game_id_index` on `ai_allowances` (`game_id`)',
    'create table `ai_allowance_uses` (`id` text not null primary key, `player_id` text not null, `game_id` text not null, `date` text not null, `credits` integer not null, `expires_at` datetime null)',
    'create index `ai_allowance_uses_game_id_index` on `ai_allowance_uses` (`game_id`)',
    'create index `ai_allowance_uses_date_index` on `ai_allowance_uses` (`date`)',
    'create index `ai_allowance_uses_player_id_game_id_date_index` on `ai_allowance_uses` (`player_id`, `game_id`, `date`)',
  ],
  postgres: [
    'create table "ai_allowances" ("player_id" varchar(30) not null, "game_id" varchar(30) not null, "credits_per_day" int not null, "created_at" timestamptz(3) not null, primary key ("player_id", "game_id"))',
    'create index "ai_allowances_game_id_index" on "ai_allowances" ("game_id")',
    'create table "ai_allowance_uses" ("id" varchar(30) not null, "player_id" varchar(30) not null, "game_id" varchar(30) not null, "date" varchar(10) not null, "credits" int not null, "expires_at" timestamptz(3) null, primary key ("id"))',
    'create index "ai_allowance_uses_game_id_index" on "ai_allowance_uses" ("game_id")',
    'create index "ai_allowance_uses_date_index" on "ai_allowance_uses" ("date")',
    'create index "ai_allowance_uses_player_id_game_id_date_index" on "ai_allowance_uses" ("player_id", "game_id", "date")',
  ],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_21_ai',
  sqlite: [
    'create table `ai_generations` (`id` text not null primary key, `player_id` text not null, `game_id` text null, `type` text not null, `model` text not null, `credits` integer not null, `date` text not null, `created_at` datetime not null)',
    'create index `ai_generations_player_id_index` on `ai_generations` (`player_id`)',
    'create index `ai_generations_game_id_date_index` on `ai_generations` (`game_id`, `date`)',
  ],
  postgres: [
    'create table "ai_generations" ("id" varchar(30) not null, "player_id" varchar(30) not null, "game_id" varchar(30) null, "type" varchar(10) not null, "model" varchar(200) not null, "credits" int not null, "date" varchar(10) not null, "created_at" timestamptz(3) not null, primary key ("id"))',
    'create index "ai_generations_player_id_index" on "ai_generations" ("player_id")',
    'create index "ai_generations_game_id_date_index" on "ai_generations" ("game_id", "date")',
  ],
}

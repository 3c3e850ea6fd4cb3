import type { Migration } from '../../../core/data/migrations.ts'

export const featuresMigration: Migration = {
  name: '2026_11_26_features',
  sqlite: [
    'create table `game_features` (`field` text not null, `value` text not null, `game_id` text not null, primary key (`field`, `value`, `game_id`))',
    'create index `game_features_game_id_index` on `game_features` (`game_id`)',
    'alter table `games` add column `features` json null',
  ],
  postgres: [
    'create table "game_features" ("field" varchar(20) not null, "value" varchar(24) not null, "game_id" varchar(30) not null, primary key ("field", "value", "game_id"))',
    'create index "game_features_game_id_index" on "game_features" ("game_id")',
    'alter table "games" add "features" jsonb null',
  ],
}

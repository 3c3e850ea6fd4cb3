import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_changed_names',
  sqlite: [
    'create table `deploy_changed_names` (`game_id` text not null, `path` text not null, primary key (`game_id`, `path`))',
  ],
  postgres: [
    'create table "deploy_changed_names" ("game_id" varchar(30) not null, "path" varchar(512) not null, primary key ("game_id", "path"))',
  ],
}

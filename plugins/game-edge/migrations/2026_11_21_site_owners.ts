import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_21_site_owners',
  sqlite: [
    'create table `site_owners` (`slug` text not null primary key, `game_id` text not null, `inherited` integer not null)',
  ],
  postgres: [
    'create table "site_owners" ("slug" varchar(63) not null, "game_id" varchar(30) not null, "inherited" boolean not null, primary key ("slug"))',
  ],
}

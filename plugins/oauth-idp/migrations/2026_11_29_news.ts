import type { Migration } from '../../../core/data/migrations.ts'

/** The messages and invitations that players have not seen yet. */
export const newsMigration: Migration = {
  name: '2026_11_29_news',
  sqlite: [
    'create table `player_news` (`id` text not null primary key, `player_id` text not null, `at` datetime not null)',
    'create index `player_news_player_id_index` on `player_news` (`player_id`)',
    'create index `player_news_at_index` on `player_news` (`at`)',
  ],
  postgres: [
    'create table "player_news" ("id" varchar(30) not null, "player_id" varchar(30) not null, "at" timestamptz(3) not null, primary key ("id"))',
    'create index "player_news_player_id_index" on "player_news" ("player_id")',
    'create index "player_news_at_index" on "player_news" ("at")',
  ],
}

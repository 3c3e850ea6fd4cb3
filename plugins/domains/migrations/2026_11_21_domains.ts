import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_21_domains',
  sqlite: [
    'create table `game_domains` (`id` text not null primary key, `game_id` text not null, `name` text not null, `proved_name` text null, `token` text not null, `is_apex` integer not null, `is_primary` integer not null, `proof` text null, `address` text null, `checked_at` datetime null, `next_check_at` datetime not null, `pending_since` datetime not null, `verified_at` datetime null, `failing_since` datetime null, `created_at` datetime not null, `updated_at` datetime not null)',
    'create unique index `game_domains_proved_name_unique` on `game_domains` (`proved_name`)',
    'create index `game_domains_next_check_at_index` on `game_domains` (`next_check_at`)',
    'create unique index `game_domains_game_id_name_unique` on `game_domains` (`game_id`, `name`)',
  ],
  postgres: [
    'create table "game_domains" ("id" varchar(30) not null, "game_id" varchar(30) not null, "name" varchar(253) not null, "proved_name" varchar(253) null, "token" varchar(40) not null, "is_apex" boolean not null, "is_primary" boolean not null, "proof" varchar(12) null, "address" varchar(12) null, "checked_at" timestamptz(3) null, "next_check_at" timestamptz(3) not null, "pending_since" timestamptz(3) not null, "verified_at" timestamptz(3) null, "failing_since" timestamptz(3) null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, primary key ("id"))',
    'alter table "game_domains" add constraint "game_domains_proved_name_unique" unique ("proved_name")',
    'create index "game_domains_next_check_at_index" on "game_domains" ("next_check_at")',
    'alter table "game_domains" add constraint "game_domains_game_id_name_unique" unique ("game_id", "name")',
  ],
}

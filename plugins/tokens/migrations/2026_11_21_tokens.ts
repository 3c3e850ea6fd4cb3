import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_21_tokens',
  sqlite: [
    'create table `api_tokens` (`id` text not null primary key, `token_hash` text not null, `player_id` text not null, `kind` text not null, `label` text not null, `prefix` text not null, `scopes` text not null, `created_at` datetime not null, `last_used_at` datetime null, `expires_at` datetime null)',
    'create unique index `api_tokens_token_hash_unique` on `api_tokens` (`token_hash`)',
    'create index `api_tokens_player_id_index` on `api_tokens` (`player_id`)',
  ],
  postgres: [
    'create table "api_tokens" ("id" varchar(30) not null, "token_hash" varchar(43) not null, "player_id" varchar(30) not null, "kind" varchar(3) not null, "label" varchar(80) not null, "prefix" varchar(12) not null, "scopes" varchar(500) not null, "created_at" timestamptz(3) not null, "last_used_at" timestamptz(3) null, "expires_at" timestamptz(3) null, primary key ("id"))',
    'alter table "api_tokens" add constraint "api_tokens_token_hash_unique" unique ("token_hash")',
    'create index "api_tokens_player_id_index" on "api_tokens" ("player_id")',
  ],
}

import type { Migration } from '../../../core/migrations.ts'

export const migration: Migration = {
  name: '2026_11_21_credits',
  sqlite: [
    'create table `credit_accounts` (`player_id` text not null primary key, `balance` bigint not null, `held` bigint not null, `welcomed` integer not null, constraint `credit_accounts_balance_check` check (balance >= 0), constraint `credit_accounts_held_check` check (held >= 0 and held <= balance))',
    'create table `credit_ledger` (`id` text not null primary key, `player_id` text not null, `amount` bigint not null, `kind` text not null, `description` text not null, `key` text not null, `created_at` datetime not null)',
    'create unique index `credit_ledger_key_unique` on `credit_ledger` (`key`)',
    'create index `credit_ledger_player_id_id_index` on `credit_ledger` (`player_id`, `id`)',
    'create table `credit_holds` (`id` text not null primary key, `player_id` text not null, `amount` bigint not null, `key` text not null, `expires_at` datetime not null, constraint `credit_holds_amount_check` check (amount > 0))',
    'create index `credit_holds_player_id_index` on `credit_holds` (`player_id`)',
    'create unique index `credit_holds_key_unique` on `credit_holds` (`key`)',
    'create index `credit_holds_expires_at_index` on `credit_holds` (`expires_at`)',
  ],
  postgres: [
    'create table "credit_accounts" ("player_id" varchar(30) not null, "balance" bigint not null, "held" bigint not null, "welcomed" boolean not null, primary key ("player_id"))',
    'create table "credit_ledger" ("id" varchar(30) not null, "player_id" varchar(30) not null, "amount" bigint not null, "kind" varchar(10) not null, "description" varchar(200) not null, "key" varchar(200) not null, "created_at" timestamptz(3) not null, primary key ("id"))',
    'alter table "credit_ledger" add constraint "credit_ledger_key_unique" unique ("key")',
    'create index "credit_ledger_player_id_id_index" on "credit_ledger" ("player_id", "id")',
    'create table "credit_holds" ("id" varchar(30) not null, "player_id" varchar(30) not null, "amount" bigint not null, "key" varchar(200) not null, "expires_at" timestamptz(3) not null, primary key ("id"))',
    'create index "credit_holds_player_id_index" on "credit_holds" ("player_id")',
    'alter table "credit_holds" add constraint "credit_holds_key_unique" unique ("key")',
    'create index "credit_holds_expires_at_index" on "credit_holds" ("expires_at")',
    'alter table "credit_accounts" add constraint "credit_accounts_balance_check" check (balance >= 0)',
    'alter table "credit_accounts" add constraint "credit_accounts_held_check" check (held >= 0 and held <= balance)',
    'alter table "credit_holds" add constraint "credit_holds_amount_check" check (amount > 0)',
  ],
}

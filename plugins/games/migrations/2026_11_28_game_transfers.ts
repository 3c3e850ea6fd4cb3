import type { Migration } from '../../../core/data/migrations.ts'

export const transfersMigration: Migration = {
  name: '2026_11_28_game_transfers',
  sqlite: [
    'create table `game_transfers` (`game_id` text not null primary key, `from_id` text not null, `to_id` text not null, `created_at` datetime not null, `expires_at` datetime not null)',
    'create index `game_transfers_to_id_index` on `game_transfers` (`to_id`)',
    'create index `game_transfers_expires_at_index` on `game_transfers` (`expires_at`)',
  ],
  postgres: [
    'create table "game_transfers" ("game_id" varchar(30) not null, "from_id" varchar(30) not null, "to_id" varchar(30) not null, "created_at" timestamptz(3) not null, "expires_at" timestamptz(3) not null, primary key ("game_id"))',
    'create index "game_transfers_to_id_index" on "game_transfers" ("to_id")',
    'create index "game_transfers_expires_at_index" on "game_transfers" ("expires_at")',
  ],
}

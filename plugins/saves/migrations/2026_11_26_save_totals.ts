import type { Migration } from '../../../core/data/migrations.ts'

// Until all nodes run this version, earlier ones count without the totals. The nightly recount corrects these.
const FILL =
  'insert into save_totals (game_id, counted_bytes) select game_id, sum(counted_bytes) from save_usage group by game_id'

export const migration: Migration = {
  name: '2026_11_26_save_totals',
  sqlite: ['create table `save_totals` (`game_id` text not null primary key, `counted_bytes` bigint not null)', FILL],
  postgres: [
    'create table "save_totals" ("game_id" varchar(30) not null, "counted_bytes" bigint not null, primary key ("game_id"))',
    FILL,
  ],
}

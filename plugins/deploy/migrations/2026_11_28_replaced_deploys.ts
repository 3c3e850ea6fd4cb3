import type { Migration } from '../../../core/data/migrations.ts'

export const replacedDeploysMigration: Migration = {
  name: '2026_11_28_replaced_deploys',
  sqlite: [
    'alter table `deploys` add column `base_id` text null',
    'alter table `deploys` add column `overtaken_by_id` text null',
    'alter table `deploys` add column `replaced_by_id` text null',
    'alter table `deploys` add column `replaced_by_player_id` text null',
    'alter table `deploys` add column `replaced_at` datetime null',
  ],
  postgres: [
    'alter table "deploys" add "base_id" varchar(30) null, add "overtaken_by_id" varchar(30) null, add "replaced_by_id" varchar(30) null, add "replaced_by_player_id" varchar(30) null, add "replaced_at" timestamptz(3) null',
  ],
}

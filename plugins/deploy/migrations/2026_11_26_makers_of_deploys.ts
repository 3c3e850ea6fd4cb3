import type { Migration } from '../../../core/data/migrations.ts'

export const makersOfDeploysMigration: Migration = {
  name: '2026_11_26_makers_of_deploys',
  sqlite: ['alter table `deploys` add column `player_id` text null'],
  postgres: ['alter table "deploys" add "player_id" varchar(30) null'],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_live_secrets',
  sqlite: ['alter table `deploys` add column `secrets` json null'],
  postgres: ['alter table "deploys" add "secrets" jsonb null'],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_23_examined_builds',
  sqlite: ['alter table `deploys` add column `build` json null'],
  postgres: ['alter table "deploys" add "build" jsonb null'],
}

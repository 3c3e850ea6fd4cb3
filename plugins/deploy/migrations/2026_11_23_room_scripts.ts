import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_23_room_scripts',
  sqlite: ['alter table `deploys` add column `room_path` text null'],
  postgres: ['alter table "deploys" add "room_path" varchar(512) null'],
}

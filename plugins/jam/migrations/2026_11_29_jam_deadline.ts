import type { Migration } from '../../../core/data/migrations.ts'

export const deadline: Migration = {
  name: '2026_11_29_jam_deadline',
  sqlite: ['alter table `jams` add column `deadline` datetime null'],
  postgres: ['alter table "jams" add "deadline" timestamptz(3) null'],
}

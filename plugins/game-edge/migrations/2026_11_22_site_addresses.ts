import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_22_site_addresses',
  sqlite: [],
  postgres: ['alter table "site_owners" alter column "slug" type varchar(253)'],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_open_deploys',
  sqlite: ["create index deploys_open_index on deploys (owner_id, id) where state in ('uploading', 'finalizing')"],
  postgres: ["create index deploys_open_index on deploys (owner_id, id) where state in ('uploading', 'finalizing')"],
}

import type { Migration } from '../../../core/data/migrations.ts'

/** The index finds the tokens that expired long ago. */
export const migration: Migration = {
  name: '2026_11_23_token_expiry',
  sqlite: ['create index `api_tokens_expires_at_index` on `api_tokens` (`expires_at`)'],
  postgres: ['create index "api_tokens_expires_at_index" on "api_tokens" ("expires_at")'],
}

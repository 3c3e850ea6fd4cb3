import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_24_consent_uses',
  sqlite: [
    'alter table `oauth_consents` add column `last_used_at` datetime null',
    'alter table `oauth_consents` add column `last_use` text null',
  ],
  postgres: [
    'alter table "oauth_consents" add column "last_used_at" timestamptz(3) null, add column "last_use" varchar(200) null',
  ],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_23_protected_resources',
  sqlite: [
    'alter table `authorization_codes` add column `resource` text null',
    'alter table `oauth_access_tokens` add column `resource` text null',
    'alter table `oauth_refresh_tokens` add column `resource` text null',
    'alter table `oauth_apps` add column `registration` text null',
    'alter table `oauth_apps` add column `metadata_url` text null',
  ],
  postgres: [
    'alter table "authorization_codes" add "resource" varchar(500) null',
    'alter table "oauth_access_tokens" add "resource" varchar(500) null',
    'alter table "oauth_refresh_tokens" add "resource" varchar(500) null',
    'alter table "oauth_apps" add "registration" varchar(20) null',
    'alter table "oauth_apps" add "metadata_url" varchar(2000) null',
  ],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_id_token_algorithms',
  sqlite: [
    'create table `oauth_rsa_signing_keys` (`period` integer not null primary key, `sealed` text not null, `public_jwk` json not null)',
    'alter table `oauth_apps` add column `id_token_algorithm` text null',
  ],
  postgres: [
    'create table "oauth_rsa_signing_keys" ("period" int not null, "sealed" varchar(4000) not null, "public_jwk" jsonb not null, primary key ("period"))',
    'alter table "oauth_apps" add "id_token_algorithm" varchar(5) null',
  ],
}

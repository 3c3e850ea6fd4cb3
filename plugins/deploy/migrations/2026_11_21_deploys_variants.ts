import type { Migration } from '../../../core/data/migrations.ts'

export const variantsMigration: Migration = {
  name: '2026_11_21_deploys_variants',
  sqlite: [
    'create table `blob_variants` (`sha256` text not null, `coding` text not null, `variant_sha256` text null, `size` integer not null, primary key (`sha256`, `coding`))',
    'create index `blob_variants_variant_sha256_index` on `blob_variants` (`variant_sha256`)',
    'alter table `deploys` add column `failure` text null',
  ],
  postgres: [
    'create table "blob_variants" ("sha256" varchar(64) not null, "coding" varchar(4) not null, "variant_sha256" varchar(64) null, "size" int not null, primary key ("sha256", "coding"))',
    'create index "blob_variants_variant_sha256_index" on "blob_variants" ("variant_sha256")',
    'alter table "deploys" add "failure" varchar(500) null',
  ],
}

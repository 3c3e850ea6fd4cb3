import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_23_holders',
  sqlite: [
    'alter table `credit_holds` add column `holder` text null',
    'create index `credit_holds_holder_index` on `credit_holds` (`holder`)',
  ],
  postgres: [
    'alter table "credit_holds" add "holder" varchar(30) null',
    'create index "credit_holds_holder_index" on "credit_holds" ("holder")',
  ],
}

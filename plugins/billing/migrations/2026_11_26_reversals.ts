import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_26_reversals',
  sqlite: [
    'create table `credit_reversals` (`id` text not null primary key, `payment_id` text not null, `kind` text not null, `amount` bigint not null, `currency` text not null, `withheld` bigint not null, `sequence` integer not null, `made_at` bigint not null, `changed_at` bigint not null)',
    'create index `credit_reversals_payment_id_index` on `credit_reversals` (`payment_id`)',
    'alter table `credit_payments` add column `refunded_at` bigint null',
    'alter table `credit_payment_events` add column `problem` text null',
    'create index `credit_payment_events_problem_index` on `credit_payment_events` (`problem`)',
  ],
  postgres: [
    'create table "credit_reversals" ("id" varchar(255) not null, "payment_id" varchar(255) not null, "kind" varchar(10) not null, "amount" bigint not null, "currency" varchar(3) not null, "withheld" bigint not null, "sequence" int not null, "made_at" bigint not null, "changed_at" bigint not null, primary key ("id"))',
    'create index "credit_reversals_payment_id_index" on "credit_reversals" ("payment_id")',
    'alter table "credit_payments" add "refunded_at" bigint null',
    'alter table "credit_payment_events" add "problem" varchar(200) null',
    'create index "credit_payment_events_problem_index" on "credit_payment_events" ("problem")',
  ],
}

import { defineEntity, p } from '@mikro-orm/core'
import type { Migration } from '../data/migrations.ts'

export type JobState = 'queued' | 'running' | 'failed'

/** The key of a periodic job's one row. */
export const PERIODIC_KEY = 'every'

const BackgroundJobSchema = defineEntity({
  name: 'BackgroundJob',
  tableName: 'background_jobs',
  properties: {
    id: p.string().length(30).primary(),
    /** Which handler it is for. */
    name: p.string().length(100),
    /** The subject; one row for each name and key. Rows without a key are all different. */
    key: p.string().length(200).nullable(),
    payload: p.json<unknown>(),
    state: p.string().length(10).$type<JobState>(),
    /**
     * The time at which a worker may take the job: the requested time or that of the next attempt, and while the job
     * runs, the end of its lease. One index therefore finds both due jobs and jobs of a dead worker. Null once the job
     * has failed.
     */
    dueAt: p.datetime(3).nullable(),
    /** Asked for again while running: when it is to run once more. */
    rerunAt: p.datetime(3).nullable(),
    /** Names the attempt that runs; an attempt that finds another here has lost the job. */
    leaseId: p.string().length(30).nullable(),
    /** Attempts begun. */
    attempts: p.integer(),
    /** Of the last attempt that failed. */
    error: p.text().nullable(),
    createdAt: p.datetime(3),
  },
  uniques: [{ properties: ['name', 'key'] }],
  indexes: [{ properties: ['dueAt'] }],
})

/** One piece of work that waits, runs or has failed for good; done work leaves no row. */
export class BackgroundJob extends BackgroundJobSchema.class {}
BackgroundJobSchema.setClass(BackgroundJob)

const INSERT = `insert into background_jobs (id, name, "key", payload, state, due_at, attempts, created_at)
  values (?, ?, ?, ?, 'queued', ?, 0, ?) on conflict (name, "key")`

/**
 * id, name, key, payload, due at, created at. Decided in one statement: of enqueuers and a worker at once, none overlooks the other.
 */
export const ENQUEUE = `${INSERT} do update set
  payload = excluded.payload,
  attempts = case background_jobs.state when 'running' then background_jobs.attempts else 0 end,
  state = case background_jobs.state when 'failed' then 'queued' else background_jobs.state end,
  rerun_at = case
    when background_jobs.state <> 'running' then null
    when background_jobs.rerun_at < excluded.due_at then background_jobs.rerun_at
    else excluded.due_at end,
  due_at = case
    when background_jobs.state = 'running' then background_jobs.due_at
    when background_jobs.state = 'queued' and background_jobs.due_at < excluded.due_at then background_jobs.due_at
    else excluded.due_at end`

/** The same values; leaves a row that is there as it is. */
export const PLAN = `${INSERT} do nothing`

export const jobMigrations: Migration[] = [
  {
    name: '2026_11_21_background_jobs',
    sqlite: [
      'create table `background_jobs` (`id` text not null primary key, `name` text not null, `key` text null, `payload` json not null, `state` text not null, `due_at` datetime null, `rerun_at` datetime null, `lease_id` text null, `attempts` integer not null, `error` text null, `created_at` datetime not null)',
      'create index `background_jobs_due_at_index` on `background_jobs` (`due_at`)',
      'create unique index `background_jobs_name_key_unique` on `background_jobs` (`name`, `key`)',
    ],
    postgres: [
      'create table "background_jobs" ("id" varchar(30) not null, "name" varchar(100) not null, "key" varchar(200) null, "payload" jsonb not null, "state" varchar(10) not null, "due_at" timestamptz(3) null, "rerun_at" timestamptz(3) null, "lease_id" varchar(30) null, "attempts" int not null, "error" text null, "created_at" timestamptz(3) not null, primary key ("id"))',
      'create index "background_jobs_due_at_index" on "background_jobs" ("due_at")',
      'alter table "background_jobs" add constraint "background_jobs_name_key_unique" unique ("name", "key")',
    ],
  },
]

import { defineEntity, p } from '@mikro-orm/core'
import type { Migration } from '../data/migrations.ts'

export type JobState = 'queued' | 'running' | 'failed'

/** The key of the only row of a periodic job. */
export const PERIODIC_KEY = 'every'

/** The owner of jobs that are nobody's in particular. */
export const PLATFORM = ''

const BackgroundJobSchema = defineEntity({
  name: 'BackgroundJob',
  tableName: 'background_jobs',
  properties: {
    id: p.string().length(30).primary(),
    /** The name of the handler. */
    name: p.string().length(100),
    /** The subject. There is one row for each name and key; rows without a key are all distinct. */
    key: p.string().length(200).nullable(),
    /** Whose turn the job takes; see `NewJob.owner`. */
    owner: p.string().length(100).default(PLATFORM),
    payload: p.json<unknown>(),
    state: p.string().length(10).$type<JobState>(),
    /**
     * The time at which a worker may take the job: the requested time or that of the next attempt, and while the job
     * runs, the end of its lease. One index therefore finds both due jobs and jobs of a dead worker. Null once the job
     * has failed.
     */
    dueAt: p.datetime(3).nullable(),
    /** The time of the next run, when the job was enqueued again while it runs. */
    rerunAt: p.datetime(3).nullable(),
    /** The id of the running attempt. An attempt that finds another id here has lost the job. */
    leaseId: p.string().length(30).nullable(),
    /** Number of started attempts. */
    attempts: p.integer(),
    /** The error of the last failed attempt. */
    error: p.text().nullable(),
    createdAt: p.datetime(3),
  },
  uniques: [{ properties: ['name', 'key'] }],
  indexes: [{ properties: ['dueAt'] }, { properties: ['owner', 'dueAt'] }],
})

/** A job that is queued, running or permanently failed. Completed jobs have no row. */
export class BackgroundJob extends BackgroundJobSchema.class {}
BackgroundJobSchema.setClass(BackgroundJob)

const INSERT = `insert into background_jobs (id, name, "key", owner, payload, state, due_at, attempts, created_at)
  values (?, ?, ?, ?, ?, 'queued', ?, 0, ?) on conflict (name, "key")`

/**
 * Parameters: id, name, key, owner, payload, due at, created at. A single statement makes concurrent enqueuers and workers see
 * each other.
 */
export const ENQUEUE = `${INSERT} do update set
  owner = excluded.owner,
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

/** Has the same parameters, and leaves an existing row unchanged. */
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
  {
    name: '2026_11_26_background_job_owners',
    sqlite: [
      "alter table `background_jobs` add column `owner` text not null default ''",
      'create index `background_jobs_owner_due_at_index` on `background_jobs` (`owner`, `due_at`)',
    ],
    postgres: [
      `alter table "background_jobs" add column "owner" varchar(100) not null default ''`,
      'create index "background_jobs_owner_due_at_index" on "background_jobs" ("owner", "due_at")',
    ],
  },
]

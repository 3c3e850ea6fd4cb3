import type { Migration } from '../../../core/data/migrations.ts'

/** The browser session behind a code, with which the sessions at games' own addresses end. */
export const codeSessions: Migration = {
  name: '2026_11_29_code_sessions',
  sqlite: ['alter table `authorization_codes` add column `session_id` text null'],
  postgres: ['alter table "authorization_codes" add "session_id" varchar(30) null'],
}

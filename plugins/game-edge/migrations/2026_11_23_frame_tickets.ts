import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: '2026_11_23_frame_tickets',
  sqlite: [
    'create table `frame_tickets` (`ticket_hash` text not null primary key, `purpose` text not null, `player_id` text not null, `session_id` text null, `consent_id` text not null, `game_id` text not null, `host` text not null, `expires_at` datetime not null)',
    'create index `frame_tickets_expires_at_index` on `frame_tickets` (`expires_at`)',
  ],
  postgres: [
    'create table "frame_tickets" ("ticket_hash" varchar(43) not null, "purpose" varchar(10) not null, "player_id" varchar(30) not null, "session_id" varchar(30) null, "consent_id" varchar(30) not null, "game_id" varchar(30) not null, "host" varchar(260) not null, "expires_at" timestamptz(3) not null, primary key ("ticket_hash"))',
    'create index "frame_tickets_expires_at_index" on "frame_tickets" ("expires_at")',
  ],
}

import type { Migration } from '../../../core/data/migrations.ts'

export const invitationsByNameMigration: Migration = {
  name: '2026_11_28_invitations_by_name',
  sqlite: [
    'alter table `game_invitations` add column `email` text null',
    'alter table `game_invitations` add column `invited_by` text null',
    'alter table `game_invitations` add column `declined_at` datetime null',
    'create index `game_invitations_player_id_index` on `game_invitations` (`player_id`)',
    'create index `game_invitations_invited_by_index` on `game_invitations` (`invited_by`)',
  ],
  postgres: [
    'alter table "game_invitations" add "email" varchar(254) null, add "invited_by" varchar(30) null, add "declined_at" timestamptz(3) null',
    'create index "game_invitations_player_id_index" on "game_invitations" ("player_id")',
    'create index "game_invitations_invited_by_index" on "game_invitations" ("invited_by")',
  ],
}

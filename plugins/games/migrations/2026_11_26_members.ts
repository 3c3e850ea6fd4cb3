import type { Migration } from '../../../core/data/migrations.ts'

export const membersMigration: Migration = {
  name: '2026_11_26_members',
  sqlite: [
    'create table `game_invitations` (`id` text not null primary key, `game_id` text not null, `role` text not null, `player_id` text null, `uses_left` integer not null, `created_at` datetime not null, `expires_at` datetime not null, `revoked_at` datetime null)',
    'create index `game_invitations_game_id_index` on `game_invitations` (`game_id`)',
    'create index `game_invitations_expires_at_index` on `game_invitations` (`expires_at`)',
    'create table `game_members` (`game_id` text not null, `player_id` text not null, `role` text not null, `since` datetime null, primary key (`game_id`, `player_id`))',
    'create index `game_members_player_id_role_game_id_index` on `game_members` (`player_id`, `role`, `game_id`)',
    // Players whom the owner of a private game has admitted become testers.
    "insert into `game_members` (`game_id`, `player_id`, `role`) select g.id, p.id, 'tester' from games g join json_each(g.invited) i join players p on p.id = i.value where p.id <> g.owner_id on conflict do nothing",
  ],
  postgres: [
    'create table "game_invitations" ("id" varchar(30) not null, "game_id" varchar(30) not null, "role" varchar(10) not null, "player_id" varchar(30) null, "uses_left" int not null, "created_at" timestamptz(3) not null, "expires_at" timestamptz(3) not null, "revoked_at" timestamptz(3) null, primary key ("id"))',
    'create index "game_invitations_game_id_index" on "game_invitations" ("game_id")',
    'create index "game_invitations_expires_at_index" on "game_invitations" ("expires_at")',
    'create table "game_members" ("game_id" varchar(30) not null, "player_id" varchar(30) not null, "role" varchar(10) not null, "since" timestamptz(3) null, primary key ("game_id", "player_id"))',
    'create index "game_members_player_id_role_game_id_index" on "game_members" ("player_id", "role", "game_id")',
    `insert into "game_members" ("game_id", "player_id", "role") select g.id, p.id, 'tester' from games g cross join lateral json_array_elements_text(g.invited::json) i (value) join players p on p.id = i.value where p.id <> g.owner_id on conflict do nothing`,
  ],
}

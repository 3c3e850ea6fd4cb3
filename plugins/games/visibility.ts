import type { Game } from './schemas.ts'

/**
 * Which games everybody may see, as conditions on `games g` and on a game in memory: public, and neither suspended nor
 * deleted. A game that waits for approval is stored as private. A disabled account suspends its games. All that readers
 * see comes from these conditions; `GameLookup` applies them. `test/game-readers.test.ts` lists what goes around them.
 */
export const SHOWN = "g.visibility = 'public' and g.suspended_at is null"

/**
 * The condition for a playable game, which is also the condition of the catalog's indexes (`PLAYABLE` of the entities).
 */
export const READY =
  'g.playable and g.suspended_at is null and (g.live_deploy_id is not null or g.external_url is not null)'

/** The condition for a game that everybody may play now. */
export const LISTED = `g.visibility = 'public' and ${READY}`

/** The condition for a game that a player makes, as its owner or beside the owner; the player's id twice. */
export const MADE = `g.id in (select id from games where owner_id = ?
  union all select game_id from game_members where player_id = ? and role = 'maker')`

/** Whether everybody may see a game. Look-ups find no deleted game. */
export const isShown = ({ visibility, suspended }: Pick<Game, 'visibility' | 'suspended'>): boolean =>
  visibility === 'public' && !suspended

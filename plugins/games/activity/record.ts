import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import type { Statements } from '../../../core/data/database.ts'
import { newId } from '../../../core/ids.ts'
import { type Author, currentAuthor } from '../../../core/observe/author.ts'
import type { GameRow } from '../entities.ts'
import { UNKNOWN_FEATURES } from '../features/schemas.ts'
import { DEFAULT_SETTINGS } from '../schemas.ts'
import { GameActivityRow } from './entities.ts'

/** The actions of the activity list, with the sentence that the dashboard shows. */
export const ACTIONS = {
  'game.create': 'Created the game',
  'game.change': 'Changed the game',
  'game.delete': 'Deleted the game',
  'game.restore': 'Restored the game',
  'game.secret': 'Created a new client secret',
  'game.suspend': 'Suspended the game',
  'game.lift': 'Lifted the suspension',
  'game.appeal': 'Answered the suspension',
  'game.approve': 'Approved the game',
  'game.refuse': 'Refused the game',
  'media.add': 'Added a picture or video',
  'media.remove': 'Removed a picture or video',
  'asset.add': 'Added an asset',
  'asset.change': 'Changed an asset',
  'asset.remove': 'Removed an asset',
  'job.create': 'Started a Blender job',
  'job.cancel': 'Cancelled a Blender job',
  'member.join': 'Joined the team',
  'member.change': 'Changed the role of a member',
  'member.remove': 'Removed a member',
  'member.leave': 'Left the team',
  'invitation.create': 'Created an invitation',
  'invitation.decline': 'Declined an invitation',
  'invitation.renew': 'Created a new invitation link',
  'invitation.revoke': 'Took back an invitation',
  'transfer.offer': 'Offered the game to a maker',
  'transfer.withdraw': 'Took back the offer of the game',
  'transfer.decline': 'Declined the game',
  'game.transfer': 'Gave the game another owner',
  'deploy.live': 'Published a deploy',
  'deploy.preview': 'Published a preview',
  'deploy.rollback': 'Put an earlier deploy live',
  'deploy.remove': 'Removed a deploy',
  'deploy.pin': 'Pinned a deploy',
  'deploy.unpin': 'Unpinned a deploy',
  'board.create': 'Created a leaderboard',
  'board.change': 'Changed a leaderboard',
  'board.remove': 'Removed a leaderboard',
  'domain.add': 'Added a domain',
  'domain.verify': 'Verified a domain',
  'domain.primary': 'Changed the main domain',
  'domain.remove': 'Removed a domain',
} as const
export type Action = keyof typeof ACTIONS

export interface Change {
  gameId: string
  action: Action
  /** The id of the deploy, board, picture, asset or job, or the name of the domain. */
  target?: string | null
  /** What changed, in a few words; never a secret. At most 500 characters are kept. */
  detail?: string | null
}

const LONGEST_DETAIL = 500

const INSERT = `insert into game_activity
  (id, game_id, action, target, detail, author_kind, player_id, author_name, tool, at)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/**
 * Writes one row about a change of a game, in the transaction of the change, so that both commit or neither does.
 *
 * @param author default: that of the current request. Inside of `Database.groupCommit` it must be read before the call.
 */
export async function recordActivity(
  transaction: SqlEntityManager | Statements,
  clock: Clock,
  { gameId, action, target = null, detail = null }: Change,
  { kind, playerId, name, tool }: Author = currentAuthor(),
): Promise<void> {
  const at = clock.now()
  const row = {
    id: newId('act', at),
    gameId,
    action,
    target,
    detail: detail?.slice(0, LONGEST_DETAIL) || null,
    authorKind: kind,
    playerId,
    authorName: name?.slice(0, 120) ?? null,
    tool,
    at,
  }
  if ('insert' in transaction) await transaction.insert(GameActivityRow, row)
  else
    await transaction.execute(INSERT, [
      row.id,
      gameId,
      action,
      target,
      row.detail,
      kind,
      playerId,
      row.authorName,
      tool,
      at,
    ])
}

/** The fields of a game whose changes are listed. */
export type Fields = Record<string, unknown>

/** Copies the fields of a row, since it changes in place. */
export function fieldsOf(row: GameRow): Fields {
  // Rows of the time before a setting lack it.
  const { multiplayer, saves, ...settings } = { ...DEFAULT_SETTINGS, ...row.settings }
  const features = row.features ?? UNKNOWN_FEATURES
  return {
    title: row.title,
    address: row.slug,
    home: row.externalUrl ?? null,
    description: row.description,
    tags: row.tags.join(', '),
    visibility: row.requestedVisibility ?? row.visibility,
    playable: row.playable,
    cover: row.coverId ?? null,
    ...settings,
    inputs: features.inputs.join(', '),
    players: features.players.join(', '),
    languages: features.languages.join(', '),
    orientation: features.orientation,
    accessibility: features.accessibility.join(', '),
    rooms: multiplayer.enabled,
    guests: multiplayer.guests,
    maxPlayersPerRoom: multiplayer.maxPlayersPerRoom,
    savesBytes: saves.bytes,
    hostPatienceSeconds: multiplayer.hostPatienceSeconds ?? DEFAULT_SETTINGS.multiplayer.hostPatienceSeconds,
  }
}

/** Names the fields that differ, with both values where they are short; empty when none does. */
export function changedFields(before: Fields, after: Fields): string {
  return Object.keys(after)
    .filter((name) => before[name] !== after[name])
    .map((name) => (NAMED_ONLY.has(name) ? name : `${name}: ${shown(before[name])} → ${shown(after[name])}`))
    .join(', ')
}

const shown = (value: unknown): string => (value === '' || value == null ? 'none' : String(value))

/** A description is long, and the id of a picture says nothing to a person. */
const NAMED_ONLY = new Set(['description', 'cover'])

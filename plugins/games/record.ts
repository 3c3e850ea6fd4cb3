import type { Origins } from '../../core/origins/origins.ts'
import { type GameFeatures, UNKNOWN_FEATURES } from './features/schemas.ts'
import { kindOf, mediaPath, type StoredMedia } from './media/record.ts'
import type { MemberRole } from './members/roles.ts'
import { DEFAULT_SETTINGS, type Game, type GameSettings } from './schemas.ts'

/** The columns of a game, for `app.db.query`. */
export const COLUMNS = `g.id, g.owner_id, g.slug, g.title, g.description, g.tags, g.visibility, g.playable,
  g.external_url, g.client_id, g.live_deploy_id, g.live_shared_memory, g.settings, g.features, g.media, g.cover_id, g.invited, g.plays, g.sign_ins,
  g.created_at, g.updated_at, g.suspended_at, g.suspension_reason, g.appeal, g.approval, g.approval_reason,
  g.requested_visibility,
  (select string_agg(m.role || m.player_id || coalesce(cast(m.since as text), ''), ',') from game_members m
   where m.game_id = g.id) as members`

/** A row in the form of `app.db.query`: times in ms, booleans as 0 and 1, JSON as text. */
export interface PlainGame {
  id: string
  owner_id: string
  slug: string
  title: string
  description: string
  tags: string
  visibility: 'public' | 'private'
  playable: number
  external_url: string | null
  client_id: string
  live_deploy_id: string | null
  live_shared_memory: number
  settings: string
  features: string | null
  media: string
  cover_id: string | null
  invited: string
  plays: number
  sign_ins: number
  created_at: number
  updated_at: number
  suspended_at: number | null
  suspension_reason: string | null
  appeal: string | null
  approval: 'waiting' | 'refused' | null
  approval_reason: string | null
  requested_visibility: 'public' | 'private' | null
  /** Role, id and time of each member, such as `makerply_…1764190000000,testerply_…`; null for none. */
  members: string | null
}

/** Converts a game for the API and the other plugins. */
export function toGame(row: PlainGame, origins: Origins): Game {
  const media = (JSON.parse(row.media) as StoredMedia[]).map((item) => ({
    id: item.id,
    url: origins.portal + mediaPath(row.id, item),
    kind: kindOf(item.contentType),
    width: item.width,
    height: item.height,
  }))
  const stored = JSON.parse(row.settings) as GameSettings
  const multiplayer = { ...DEFAULT_SETTINGS.multiplayer, ...stored.multiplayer }
  const settings = { ...DEFAULT_SETTINGS, ...stored, multiplayer }
  const cover = media.find(({ id }) => id === row.cover_id) ?? media.find(({ kind }) => kind === 'image')
  return {
    id: row.id,
    slug: row.slug,
    title: row.title,
    description: row.description,
    url: row.external_url ?? origins.game(row.slug),
    tags: JSON.parse(row.tags) as string[],
    visibility: row.visibility,
    playable: Boolean(row.playable),
    ownerId: row.owner_id,
    coverUrl: cover?.url ?? null,
    media,
    clientId: row.client_id,
    liveDeployId: row.live_deploy_id,
    playUrl: `${origins.portal}${pathOf(row)}`,
    manageUrl: `${origins.portal}${pathOf(row)}/settings`,
    hosted: row.external_url === null,
    settings,
    features: row.features === null ? UNKNOWN_FEATURES : (JSON.parse(row.features) as GameFeatures),
    isolated: isIsolated(settings, Boolean(row.live_shared_memory)),
    suspended:
      row.suspended_at === null
        ? null
        : { reason: row.suspension_reason ?? '', at: new Date(row.suspended_at).toISOString() },
    appeal: row.appeal,
    approval:
      row.approval === null
        ? null
        : { state: row.approval, reason: row.approval_reason, visibility: row.requested_visibility ?? 'public' },
    ...membersOf(row),
    stats: { plays: row.plays, signIns: row.sign_ins },
    createdAt: new Date(row.created_at).toISOString(),
    updatedAt: new Date(row.updated_at).toISOString(),
  }
}

/**
 * Returns the ids of a game's members by role. A tester is in `invited`, in which alone an earlier version of the program
 * admits and removes testers; the row has the time.
 */
function membersOf({ members, invited }: Pick<PlainGame, 'members' | 'invited'>) {
  const all = members === null ? [] : members.split(',')
  // The times of one database have one form, so the texts after the ids sort by time.
  const withRole = (role: MemberRole) =>
    all
      .filter((member) => member.startsWith(role))
      .map((member) => ({ id: member.slice(role.length, role.length + 30), since: member.slice(role.length + 30) }))
      .sort((a, b) => (a.since < b.since ? -1 : 1))
      .map(({ id }) => id)
  const makerIds = withRole('maker')
  const admitted = new Set((JSON.parse(invited) as string[]).filter((id) => !makerIds.includes(id)))
  const inOrder = withRole('tester').filter((id) => admitted.has(id))
  return { makerIds, testerIds: [...new Set([...inOrder, ...admitted])] }
}

/** Whether a build is served cross-origin isolated. @param sharedMemory whether a `.wasm` of it uses shared memory */
export const isIsolated = ({ crossOriginIsolated }: GameSettings, sharedMemory: boolean): boolean =>
  crossOriginIsolated === 'auto' ? sharedMemory : crossOriginIsolated

/** Returns the path of a game's page on the portal. */
export const pathOf = (game: { slug: string }): string => `/games/${game.slug}`

/** Whether the game's page shows the game itself: a hosted game, or an external one that allows frames. */
export const isFramed = (game: Game): boolean => isReady(game) && (game.hosted || game.settings.embedded)

/** Whether the game is playable: it has a live build here, or an external address. */
export const isReady = (game: Game): boolean =>
  game.playable && !game.suspended && (game.liveDeployId !== null || !game.hosted)

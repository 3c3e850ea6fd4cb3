import type { FastifyInstance } from 'fastify'
import type { Origins } from '../../core/origins/origins.ts'
import type { Game } from '../games/index.ts'
import { isolationOf } from './builds/isolation.ts'
import { type DeployRow, uploaderOf } from './entities.ts'
import { previewUrl } from './previews.ts'
import { replacedBy, replacerOf } from './replacements.ts'
import type { Deploy, ExaminedBuild, FinalizedDeploy } from './schemas.ts'
import { isFinalized } from './uploads/uploads.ts'

type Parts = Pick<FastifyInstance, 'games' | 'origins'>

/** Converts deploys of a game for the API, each with its maker and who replaced it: one query for all. */
export async function toDeploys({ games, origins }: Parts, rows: readonly DeployRow[], game: Game): Promise<Deploy[]> {
  const people = await games.members.people(
    rows.flatMap((row) => [uploaderOf(row).playerId, replacerOf(row) ?? []].flat()),
  )
  return rows.map((row) =>
    describe(row, game, {
      origins,
      by: people.get(uploaderOf(row).playerId) ?? null,
      replacedBy: replacedBy(row, people),
    }),
  )
}

/** Converts one deploy of a game for the API. */
export const toDeploy = async (parts: Parts, row: DeployRow, game: Game): Promise<Deploy> =>
  (await toDeploys(parts, [row], game))[0] as Deploy

/** Converts a deploy for the API, with the origins and players at hand. @param by who made it */
function describe(
  row: DeployRow,
  game: Game,
  { origins, by, replacedBy }: { origins: Origins } & Pick<Deploy, 'by' | 'replacedBy'>,
): Deploy {
  const isWhole = isFinalized(row)
  return {
    id: row.id,
    gameId: row.gameId,
    state: row.state,
    by,
    message: row.message ?? null,
    failure: row.failure ?? null,
    files: row.fileCount,
    unchanged: row.unchangedCount,
    bytes: row.totalBytes,
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt.toISOString(),
    liveAt: row.liveAt?.toISOString() ?? null,
    replacedBy,
    preview: row.state === 'superseded' && !row.liveAt,
    pinned: row.pinned,
    room: row.roomPath ?? null,
    isolation: isWhole ? isolationOf(game.settings.crossOriginIsolated, row.build ?? null) : null,
    build: isWhole ? examinedBuildOf(row, game) : null,
    previewUrl: isWhole ? previewUrl(origins, game.slug, row.id) : null,
  }
}

/** Returns what the maker of a deploy is told when it is finalized or put live again. */
export function toFinalized(row: Pick<DeployRow, 'build'>, game: Game, origins: Origins): FinalizedDeploy {
  const origin = origins.game(game.slug)
  return {
    url: origin,
    playUrl: game.playUrl,
    manageUrl: game.manageUrl,
    auth: {
      enabled: true,
      clientId: game.clientId,
      startUrl: `${origin}/auth/service/start`,
      sessionUrl: `${origin}/auth/service/session`,
    },
    multiplayer: {
      enabled: game.settings.multiplayer.enabled,
      url: `${origin.replace(/^http/, 'ws')}/mp/rooms/{roomId}`,
      client: `${origin}/__service/multiplayer.js`,
    },
    isolation: isolationOf(game.settings.crossOriginIsolated, row.build ?? null),
    build: examinedBuildOf(row, game),
  }
}

/** Adds what the game's setting means for the build. */
function examinedBuildOf({ build }: Pick<DeployRow, 'build'>, game: Game): ExaminedBuild | null {
  if (!build) return null
  const { engine = null, notes = [], sharedMemory } = build
  const isolation = isolationOf(game.settings.crossOriginIsolated, build)
  if (isolation.on) return { engine, notes: notes.filter(({ code }) => code !== 'shared_memory_in_script') }
  const relevant = notes.filter(({ code }) => code !== 'other_hosts')
  if (sharedMemory === null) return { engine, notes: relevant }
  return {
    engine,
    notes: [...relevant, { level: 'warning', code: 'not_isolated', path: sharedMemory, message: isolation.reason }],
  }
}

import type { FastifyInstance } from 'fastify'
import type { Content, View } from '../../core/pages/index.ts'
import type { Game } from './schemas.ts'

/** A page of a game's dashboard. Plugins add theirs. */
export interface GameTab {
  label: string
  /** The path on the portal. */
  href(game: Game): string
  order: number
}

/**
 * A part of the public page of a game, below its description. Plugins add theirs.
 *
 * @param playerId the viewer; null for a visitor
 */
export type PageSection = (game: Game, playerId: string | null) => Promise<Content>

/** A separate page of a game's settings. The settings link to it. */
export interface SettingsPage {
  title: string
  description: string
  /** The label of the link. */
  label: string
  /** The path on the portal. */
  href(game: Game): string
  /** Whether the page exists for this game. */
  shown(game: Game): boolean
}

/** A column of the owner's list. Plugins add theirs. */
export interface GameColumn {
  label: string
  order: number
  /** Whether it shows the current moment, which the page marks with a dot. */
  live?: boolean
  /** `end`, the default, for numbers. */
  align?: 'start' | 'end'
  /** Loads the cells for all games of a page at once, by id. A missing game has an empty cell. */
  load(games: readonly Game[]): Promise<ReadonlyMap<string, Content>>
}

/** A column with its cells for some games. */
export type LoadedColumn = GameColumn & { cells: ReadonlyMap<string, Content> }

/** A number about all games of an owner. Plugins add theirs. */
export interface OwnerStat {
  label: string
  order: number
  live?: boolean
  value(ownerId: string): Promise<number>
}

/** A number about one game on its page of statistics. Plugins add theirs. */
export interface GameStat {
  label: string
  order: number
  /** @param from the first day of the shown span (UTC), such as `2026-11-21` */
  value(game: Game, from: string): Promise<number>
}

/** Another way to make a game, which the page of a new game offers. Plugins add theirs. */
export interface NewGameLink {
  label: string
  /** The path on the portal. */
  href: string
}

/** Something of the platform that the code of a game may use. Plugins add theirs. */
export interface Integration {
  title: string
  order: number
  /** What it does, and what it does for players who are not signed in. */
  description: string
  /** A module of the game that works as it is; null where a game has no code of its own for it. */
  code: string | null
  /** The name of its guide. */
  guide: string
  /** The same for a coding assistant, in a sentence or two. */
  prompt: string
}

/** The additions of other plugins to the owner's pages. */
export class Dashboard {
  /** Sections of the tab *Integrate*. */
  readonly integrateSections: ((game: Game) => View)[] = []
  /** Sections of that tab with code, which the prompt for coding assistants mentions too. */
  readonly integrations: Integration[] = []
  /** The tabs on every page of the game. */
  readonly tabs: GameTab[] = []
  readonly settings: SettingsPage[] = []
  readonly newGame: NewGameLink[] = []
  readonly columns: GameColumn[] = []
  readonly stats: OwnerStat[] = []
  readonly gameStats: GameStat[] = []

  /**
   * Loads the columns in their order, each with its cells for these games: one query a column.
   *
   * @param live only columns that show the current moment
   */
  loadColumns(games: readonly Game[], { live: only = false } = {}): Promise<LoadedColumn[]> {
    const sorted = this.columns.filter(({ live }) => live || !only).sort((a, b) => a.order - b.order)
    return Promise.all(
      sorted.map(async (column) => ({ ...column, cells: games.length > 0 ? await column.load(games) : new Map() })),
    )
  }

  /** Loads the stats of a game in their order, without those that are 0. @param from see `GameStat` */
  async loadGameStats(game: Game, from: string): Promise<{ label: string; value: number }[]> {
    const sorted = this.gameStats.toSorted((a, b) => a.order - b.order)
    const stats = await Promise.all(sorted.map(async ({ label, value }) => ({ label, value: await value(game, from) })))
    return stats.filter(({ value }) => value > 0)
  }

  /** Loads the stats of an owner in their order. @param live only those that show the current moment */
  loadFigures(
    ownerId: string,
    { live: only = false } = {},
  ): Promise<{ label: string; value: number; live: boolean }[]> {
    const sorted = this.stats.filter(({ live }) => live || !only).sort((a, b) => a.order - b.order)
    return Promise.all(
      sorted.map(async ({ label, live = false, value }) => ({ label, live, value: await value(ownerId) })),
    )
  }
}

const WEEK_MS = 7 * 86_400_000
const number = new Intl.NumberFormat('en')

/** Adds the columns and stats of this plugin: plays, sign-ins, players now. */
export function contributeCounts({ games, db, clock }: Pick<FastifyInstance, 'games' | 'db' | 'clock'>): void {
  const since = () => new Date(clock.now().getTime() - WEEK_MS).toISOString().slice(0, 10)
  const week = (field: 'plays' | 'sign_ins') => async (shown: readonly Game[]) => {
    const rows = await db.query<{ game_id: string; sum: number }>(
      `select game_id, sum(${field}) as sum from game_days
       where game_id in (${shown.map(() => '?').join(', ')}) and date > ? group by game_id`,
      [...shown.map(({ id }) => id), since()],
    )
    return new Map(rows.map(({ game_id, sum }) => [game_id, number.format(Number(sum))]))
  }
  const { dashboard } = games
  dashboard.columns.push(
    { label: 'Plays this week', order: 20, load: week('plays') },
    // Narrow headings do not break at this non-breaking hyphen.
    { label: 'Sign\u2011ins', order: 30, load: week('sign_ins') },
    { label: 'In rooms now', order: 40, live: true, load: () => games.playing.now() },
  )
  const ofOwner = async (sql: string, ownerId: string) => {
    const [row] = await db.query<{ sum: number | null }>(sql, [ownerId, since()])
    return Number(row?.sum ?? 0)
  }
  const sumOf = (field: 'plays' | 'sign_ins') => `select sum(d.${field}) as sum from game_days d
    join games g on g.id = d.game_id where g.owner_id = ? and g.deleted_at is null and d.date > ?`
  dashboard.stats.push(
    { label: 'plays this week', order: 10, value: (ownerId) => ofOwner(sumOf('plays'), ownerId) },
    { label: 'sign-ins this week', order: 20, value: (ownerId) => ofOwner(sumOf('sign_ins'), ownerId) },
    {
      label: 'in rooms now',
      order: 30,
      live: true,
      value: async (ownerId) => {
        const playing = [...(await games.playing.now())].slice(0, MOST_PLAYED)
        if (playing.length === 0) return 0
        const rows = await db.query<{ id: string }>(
          `select id from games where owner_id = ? and id in (${playing.map(() => '?').join(', ')})`,
          [ownerId, ...playing.map(([id]) => id)],
        )
        const own = new Set(rows.map(({ id }) => id))
        return playing.reduce((sum, [id, players]) => sum + (own.has(id) ? players : 0), 0)
      },
    },
  )
}

/** The maximum number of games in the query, since statements limit parameters. The others have the fewest players. */
const MOST_PLAYED = 1000

import Type, { type Static, type TObject } from 'typebox'

/** The plugin's values in `limits`. An administrator may set others for a player. */
export const QuotaLimits = {
  storageBytesPerPlayer: Type.Integer({
    default: 5 * 1024 ** 3,
    minimum: 0,
    description:
      'Bytes kept for one player: of deploys, assets, pictures and videos of games, saves of their players, and Blender jobs.',
  }),
  gamesPerPlayer: Type.Integer({
    default: 50,
    minimum: 0,
    description: 'Games of one player, with deleted ones until they are gone for good.',
  }),
  assetsPerPlayer: Type.Integer({ default: 1000, minimum: 0, description: 'Assets of one player.' }),
  uploadBytesPerDay: Type.Integer({
    default: 10 * 1024 ** 3,
    minimum: 0,
    description:
      'Bytes that one player may upload or announce in a day (UTC), whether they are kept or not. A file of a deploy counts at least 4 KiB.',
  }),
}
export type QuotaLimits = Static<TObject<typeof QuotaLimits>>
export type QuotaName = keyof QuotaLimits

export const QUOTA_NAMES = Object.keys(QuotaLimits) as QuotaName[]

/** The limits of one player that differ: an absent one is as configured, and null is no limit. */
export type LimitOverrides = { [Name in QuotaName]?: number | null }

/** The effective limits of one player; null is no limit. */
export type PlayerLimits = { [Name in QuotaName]: number | null }

/** How often a caller may ask for a usage, which examines the files of the largest deploys. */
export const USAGE_RATE_LIMIT = { max: 60, timeWindow: 60_000 }

const Limit = Type.Union([Type.Integer(), Type.Null()], { description: 'null: no limit.' })
const Quota = Type.Object({ used: Type.Integer(), limit: Limit })

export const Quotas = Type.Object({
  storageBytesPerPlayer: Quota,
  gamesPerPlayer: Quota,
  assetsPerPlayer: Quota,
  uploadBytesPerDay: Type.Object({
    used: Type.Integer(),
    limit: Limit,
    resetsAt: Type.String({ format: 'date-time' }),
  }),
})
export type Quotas = Static<typeof Quotas>

const KindBytes = Type.Object({
  kind: Type.String({ description: '`deploys`, `assets`, `media`, `saves` or `jobs`.' }),
  bytes: Type.Integer(),
})

export const StoredThing = Type.Object({
  kind: Type.String({ description: 'As in `kinds`.' }),
  id: Type.String(),
  title: Type.String(),
  bytes: Type.Integer({ description: 'All of it.' }),
  frees: Type.Union([Type.Integer(), Type.Null()], {
    description:
      'What its removal frees: without the files that other deploys of the player have too. null for a deploy behind larger ones of 40,000 files.',
  }),
  createdAt: Type.String({ format: 'date-time' }),
  url: Type.String({ description: 'Its page.' }),
  removable: Type.Boolean({ description: 'false for what is in use: a live or pinned deploy, a curated asset.' }),
})
export type StoredThing = Static<typeof StoredThing>

export const Usage = Type.Object({
  quotas: Quotas,
  kinds: Type.Array(KindBytes, { description: 'What the bytes belong to, most first.' }),
  largest: Type.Array(StoredThing, { description: 'The largest items, largest first; at most a hundred.' }),
})
export type Usage = Static<typeof Usage>

const NewLimit = Type.Optional(
  Type.Union([Type.Integer({ minimum: 0 }), Type.Null(), Type.Literal('default')], {
    description: 'A number, null for no limit, or `default` for the number of the configuration.',
  }),
)

export const LimitChanges = Type.Object(
  {
    storageBytesPerPlayer: NewLimit,
    gamesPerPlayer: NewLimit,
    assetsPerPlayer: NewLimit,
    uploadBytesPerDay: NewLimit,
  },
  { additionalProperties: false, minProperties: 1 },
)
export type LimitChanges = Static<typeof LimitChanges>

export const PlayerQuotas = Type.Object({
  playerId: Type.String(),
  quotas: Quotas,
  overrides: Type.Record(Type.String(), Limit, { description: 'What is set for this player alone.' }),
})

export const PlayerParams = Type.Object({ playerId: Type.String({ maxLength: 30 }) })

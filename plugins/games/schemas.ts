import Type, { type Static, type TObject } from 'typebox'
import { PageQuery, pageOf } from '../../core/http/pagination.ts'
import { Tags } from '../../core/tags.ts'
import { VISIBLE_PATTERN } from '../../core/visible-text.ts'
import { FeatureChanges, FeatureQuery, GameFeatures } from './features/schemas.ts'
import { Person } from './members/schemas.ts'

export const Visibility = Type.Union([Type.Literal('public'), Type.Literal('private')], {
  description: 'A private game is absent from the catalog and answers 404 to all but its makers and testers.',
})

const Title = Type.String({ minLength: 1, maxLength: 120, pattern: VISIBLE_PATTERN })
export const DESCRIPTION_LENGTH = 20_000
const Description = Type.String({ maxLength: DESCRIPTION_LENGTH })
/** The pattern of a slug. `--` separates slug and preview in a host name, which needs room for both. */
export const SLUG_PATTERN = '^(?!.*--)[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?$'

const slugWith = (more: string) =>
  Type.String({
    pattern: SLUG_PATTERN,
    advice: 'Use 1 to 50 of a-z, 0-9 and single hyphens, without one at an end.',
    description: `Its address: 1 to 50 of a-z, 0-9 and single hyphens. ${more}`,
  })
const NewSlug = slugWith('Default: made from the title, with a number if another game has it.')
const Slug = slugWith('The old one leads to the new one for 90 days.')
const Url = Type.String({ maxLength: 2000, description: 'Where the game lives, when it is not hosted here.' })

const AuthWidget = Type.Union([Type.Literal('on'), Type.Literal('off')], {
  description: 'Whether pages of the game get the sign-in widget.',
})
const Embedded = Type.Boolean({
  description:
    'For a game that lives elsewhere: whether its page here shows the game itself, in a frame. The game needs the server adapter, or its own /auth/service/start.',
})
const Remix = Type.Boolean({
  description:
    'Whether other players may make a game of their own from a public, hosted game: they get all files of its live deploy, the room script included.',
})
const ClickToStart = Type.Boolean({
  description:
    'Whether its page shows a cover with a button, and loads the game when a player presses it: for sound from the start, and for the keyboard.',
})
/** The greatest `settings.multiplayer.maxPlayersPerRoom` of any server. */
export const MOST_ROOM_PLAYERS = 1000
const Multiplayer = {
  enabled: Type.Boolean(),
  maxPlayersPerRoom: Type.Integer({
    minimum: 1,
    maximum: MOST_ROOM_PLAYERS,
    description: '`limits.roomPlayers` of the server bounds it.',
  }),
  guests: Type.Boolean({ description: 'Whether rooms take players who are not signed in.' }),
  hostPatienceSeconds: Type.Integer({
    minimum: 1,
    maximum: 600,
    description: 'How long the host of a room may be away before another player becomes host.',
  }),
}

/** The maximum of `settings.saves.bytes`. */
export const MOST_SAVED_BYTES = 1024 ** 3
const Saves = {
  bytes: Type.Integer({
    minimum: 0,
    maximum: MOST_SAVED_BYTES,
    description: 'Bytes of all saves of one player, with their earlier versions. `limits.savesTotalBytes` bounds it.',
  }),
}

const CrossOriginIsolated = Type.Union([Type.Literal('auto'), Type.Boolean()], {
  description:
    'Whether to serve it with COOP and COEP, for SharedArrayBuffer and threads. `auto`: when a `.wasm` of the build imports or defines shared memory.',
})

export const GameSettings = Type.Object({
  authWidget: AuthWidget,
  crossOriginIsolated: CrossOriginIsolated,
  embedded: Embedded,
  remix: Remix,
  clickToStart: ClickToStart,
  multiplayer: Type.Object(Multiplayer),
  saves: Type.Object(Saves),
})
export type GameSettings = Static<typeof GameSettings>

/** The settings of a new game. */
export const DEFAULT_SETTINGS: GameSettings = {
  authWidget: 'on',
  crossOriginIsolated: 'auto',
  embedded: false,
  remix: false,
  clickToStart: false,
  multiplayer: { enabled: true, maxPlayersPerRoom: 100, guests: false, hostPatienceSeconds: 5 },
  saves: { bytes: 16 * 1024 ** 2 },
}

const SettingsChanges = Type.Object(
  {
    authWidget: Type.Optional(AuthWidget),
    crossOriginIsolated: Type.Optional(CrossOriginIsolated),
    embedded: Type.Optional(Embedded),
    remix: Type.Optional(Remix),
    clickToStart: Type.Optional(ClickToStart),
    multiplayer: Type.Optional(Type.Partial(Type.Object(Multiplayer), { additionalProperties: false })),
    saves: Type.Optional(Type.Partial(Type.Object(Saves), { additionalProperties: false })),
  },
  { additionalProperties: false },
)

/** A picture or video of a game. */
export const GameMedia = Type.Object({
  id: Type.String(),
  url: Type.String(),
  kind: Type.Union([Type.Literal('image'), Type.Literal('video')]),
  width: Type.Integer(),
  height: Type.Integer(),
})

/** A game in the form of the API. */
export const Game = Type.Object(
  {
    id: Type.String(),
    slug: Type.String(),
    title: Type.String(),
    description: Type.String(),
    url: Type.String({ description: "The game's own origin, or where it lives elsewhere." }),
    tags: Type.Array(Type.String()),
    visibility: Visibility,
    playable: Type.Boolean(),
    ownerId: Type.String(),
    coverUrl: Type.Union([Type.String(), Type.Null()]),
    media: Type.Array(GameMedia),
    clientId: Type.String(),
    liveDeployId: Type.Union([Type.String(), Type.Null()]),
    playUrl: Type.String(),
    manageUrl: Type.String(),
    settings: GameSettings,
    features: GameFeatures,
    isolated: Type.Boolean({
      description: 'Whether its live build is served cross-origin isolated, as `settings.crossOriginIsolated` decides.',
    }),
    suspended: Type.Union(
      [Type.Object({ reason: Type.String(), at: Type.String({ format: 'date-time' }) }), Type.Null()],
      {
        description: 'Since when nobody can play it, by decision of this platform, and why. Its owner may answer once.',
      },
    ),
    approval: Type.Union(
      [
        Type.Object({
          state: Type.Union([Type.Literal('waiting'), Type.Literal('refused')]),
          reason: Type.Union([Type.String(), Type.Null()], { description: 'Why it was refused.' }),
          visibility: Type.Union([Type.Literal('public'), Type.Literal('private')], {
            description: 'What its visibility will be; until then it is private, and nobody is invited.',
          }),
        }),
        Type.Null(),
      ],
      { description: 'Set while the game waits for the approval of this platform, or was refused (`games.publish`).' },
    ),
    stats: Type.Object({ plays: Type.Integer(), signIns: Type.Integer() }),
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
  },
  { title: 'Game' },
)
export type Game = Static<typeof Game> & {
  /** The players who make the game beside its owner, the earliest first. API responses omit it. */
  makerIds: readonly string[]
  /** The players who may see it while it is private. API responses omit it. */
  testerIds: readonly string[]
  /** Whether the game is hosted here rather than externally. API responses omit it. */
  hosted: boolean
  /** The owner's answer to a suspension. API responses omit it. */
  appeal: string | null
}

/** The OAuth application of a new game. The secret is shown only once. */
export const GameOauth = Type.Object({
  clientId: Type.String(),
  clientSecret: Type.String(),
  redirectUri: Type.String(),
})

export const NewGame = Type.Object({
  title: Title,
  description: Description,
  slug: Type.Optional(NewSlug),
  url: Type.Optional(Url),
  tags: Type.Optional(Tags),
  visibility: Type.Optional(Visibility),
  settings: Type.Optional(SettingsChanges),
  features: Type.Optional(FeatureChanges),
})
export type NewGame = Static<typeof NewGame>

export const GameChanges = Type.Partial(
  Type.Object({
    title: Title,
    description: Description,
    url: Type.Union([Url, Type.Null()], { description: 'null: the game is hosted here.' }),
    tags: Tags,
    visibility: Visibility,
    playable: Type.Boolean(),
    slug: Slug,
    coverMediaId: Type.Union([Type.String({ maxLength: 30 }), Type.Null()], {
      description: 'The picture for its card, one of its `media`; null: the first.',
    }),
    settings: SettingsChanges,
    features: FeatureChanges,
  }),
  { additionalProperties: false, minProperties: 1 },
)
export type GameChanges = Static<typeof GameChanges>
export type SettingsChanges = Static<typeof SettingsChanges>

export const Appeal = Type.Object(
  {
    text: Type.String({
      minLength: 1,
      maxLength: 2000,
      pattern: VISIBLE_PATTERN,
      description: 'What its owner answers.',
    }),
  },
  { additionalProperties: false },
)

/** The plugin's values in `limits`. */
export const GamesLimits = {
  activityDays: Type.Integer({
    default: 180,
    minimum: 1,
    maximum: 3650,
    description: 'Days for which the list of the changes of a game keeps each of them.',
  }),
  reservedSlugsPerPlayer: Type.Integer({
    default: 100,
    minimum: 1,
    description:
      "Addresses of one player's former and deleted games that are reserved, each for 90 days. At that number no game is made, and none gets another address.",
  }),
}
export type GamesLimits = Static<TObject<typeof GamesLimits>>

export const GameParams = Type.Object({ id: Type.String({ maxLength: 63, description: "The game's id or slug." }) })

const makers = Type.Array(Person, { description: 'The owner first, then the other makers, the earliest first.' })

/** A game with its makers, as everybody may see it. */
export const CatalogGame = Type.Object({ ...Game.properties, makers })
export const CatalogList = pageOf('games', CatalogGame)

/** A game as its members see it. */
export const MemberGame = Type.Object({
  ...CatalogGame.properties,
  role: Type.Union([Type.Literal('owner'), Type.Literal('maker'), Type.Literal('tester'), Type.Null()], {
    description: 'What the caller is in the game.',
  }),
})
export type MemberGame = Static<typeof MemberGame> & Game
export const GameList = pageOf('games', MemberGame)

export const CreatedGame = Type.Object({
  ...MemberGame.properties,
  oauth: GameOauth,
  integrationPrompt: Type.String({ description: 'Instructions for a coding assistant; holds no secret.' }),
})
/** A new game, without what `Members.describe` adds. */
export type CreatedGame = Omit<Static<typeof CreatedGame>, 'makers' | 'role'> & Game

export const MyGamesQuery = Type.Object({
  ...PageQuery.properties,
  deleted: Type.Boolean({
    default: false,
    description: 'Those deleted within the last 30 days, which can be restored.',
  }),
})

export const DeletionQuery = Type.Object({
  forever: Type.Boolean({
    default: false,
    description:
      'Delete it for good, with all its data, whether it is deleted already or not. 409 `under_review` while it is suspended or reported.',
  }),
  confirm: Type.Optional(
    Type.String({ maxLength: 63, description: 'With `forever`: the slug of the game, repeated.' }),
  ),
})
export type DeletionQuery = Static<typeof DeletionQuery>

const Day = Type.String({ format: 'date', description: 'A day in UTC, such as 2026-11-21.' })
export const AnalyticsQuery = Type.Object({ from: Type.Optional(Day), to: Type.Optional(Day) })
export type AnalyticsQuery = Static<typeof AnalyticsQuery>

const counts = {
  plays: Type.Integer({ description: 'How often it was opened.' }),
  uniquePlayers: Type.Integer({ description: 'How many different players on a day; a total is the sum of the days.' }),
  signIns: Type.Integer(),
  peakPlayers: Type.Integer({ description: 'The most players in its rooms at a time; a total is the highest day.' }),
}
export const Analytics = Type.Object({
  days: Type.Array(Type.Object({ date: Day, ...counts })),
  totals: Type.Object(counts),
})
export type Analytics = Static<typeof Analytics>

export const CatalogQuery = Type.Object({
  ...PageQuery.properties,
  q: Type.Optional(Type.String({ maxLength: 100, description: 'Words, or beginnings of words, of the title.' })),
  tag: Type.Optional(Type.String({ maxLength: 30 })),
  ...FeatureQuery.properties,
  sort: Type.Union([Type.Literal('new'), Type.Literal('popular')], { default: 'new' }),
})
export type CatalogQuery = Static<typeof CatalogQuery>

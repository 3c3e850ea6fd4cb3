import Type, { type Static } from 'typebox'

/** The plugin's part of the configuration. */
export const GameEdgeConfig = Type.Object(
  {
    cacheBytes: Type.Integer({
      default: 64 * 1024 ** 2,
      minimum: 0,
      description: 'Memory for the small files of games that are asked for often, in bytes.',
    }),
    diskCacheBytes: Type.Integer({
      default: 4 * 1024 ** 3,
      minimum: 0,
      description:
        'Disk space in the data folder, in bytes, for copies of files from a storage over the network, and for the ' +
        'content of compressed files (.br, .gz) that clients ask for without the coding. 0: none is kept or decoded.',
    }),
  },
  { default: {}, description: 'Serving games on their own origins.' },
)
export type GameEdgeConfig = Static<typeof GameEdgeConfig>

/** The game session object of the specification. */
export const GameSessionAnswer = Type.Object(
  {
    signedIn: Type.Boolean(),
    user: Type.Optional(
      Type.Object({
        id: Type.String({ description: 'The stable player id, `sub` in OAuth.' }),
        name: Type.String(),
        imageUrl: Type.Union([Type.String(), Type.Null()]),
      }),
    ),
    scope: Type.Optional(Type.String()),
    expiresAt: Type.Optional(Type.String({ format: 'date-time' })),
  },
  { $id: 'GameSession' },
)

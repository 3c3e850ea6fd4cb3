import Type, { type Static } from 'typebox'
import { pageOf } from '../../core/http/pagination.ts'
import { Isolation } from './builds/isolation.ts'
import { Note } from './builds/notes.ts'

/** The plugin's values in `limits`. */
export const DeployLimits = {
  filesPerDeploy: Type.Integer({ default: 20_000, minimum: 1, maximum: 100_000, description: 'Files of one deploy.' }),
  deployBytes: Type.Integer({ default: 2 * 1024 ** 3, minimum: 1, description: 'All files of one deploy together.' }),
  deployFileBytes: Type.Integer({ default: 512 * 1024 ** 2, minimum: 1, description: 'One file of a deploy.' }),
  openDeploysPerPlayer: Type.Integer({
    default: 10,
    minimum: 1,
    maximum: 1000,
    description: 'Deploys of one player that wait for their files.',
  }),
}
export type DeployLimits = { [Name in keyof typeof DeployLimits]: number }

export const HistoryLimits = {
  deploysKept: Type.Integer({
    default: 20,
    minimum: 1,
    maximum: 100_000,
    description:
      'Deploys of a game that were live before and can be put live again; older ones are deleted, previews after 30 days.',
  }),
}

export const ArchiveLimits = {
  archivesAtOnce: Type.Integer({
    default: 8,
    minimum: 1,
    description: 'Zip archives unpacked at a time, by one node; the others wait.',
  }),
  archivesAtOncePerPlayer: Type.Integer({ default: 2, minimum: 1, description: 'The same for one player.' }),
}
export type ArchiveLimits = { [Name in keyof typeof ArchiveLimits]: number }

const DeployState = Type.Union([
  Type.Literal('uploading'),
  Type.Literal('finalizing'),
  Type.Literal('live'),
  Type.Literal('superseded'),
  Type.Literal('failed'),
  Type.Literal('expired'),
])
export type DeployState = Static<typeof DeployState>

const Sha256 = Type.String({
  pattern: '^[0-9a-f]{64}$',
  advice: 'Use the SHA-256 digest in 64 hexadecimal digits, in lower case.',
  description: 'Hex, lower case.',
})

export const NewDeploy = Type.Object({
  gameId: Type.String({ maxLength: 63, description: "The game's id or slug." }),
  files: Type.Array(
    Type.Object(
      {
        path: Type.String({ description: 'Relative, separated by `/`, such as `assets/level-1.json`.' }),
        size: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'In bytes.' }),
        sha256: Sha256,
        contentType: Type.Optional(Type.String({ maxLength: 200, description: 'Default: by the name.' })),
      },
      { additionalProperties: false },
    ),
    { minItems: 1 },
  ),
  message: Type.Optional(Type.String({ maxLength: 500, description: 'A note for the history.' })),
  room: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 512,
      description: 'The path of the room script among the files: an ES module without imports, which is never served.',
    }),
  ),
})
export type NewDeploy = Static<typeof NewDeploy>
export type NewFile = NewDeploy['files'][number]

export const StartedDeploy = Type.Object({
  deployId: Type.String(),
  uploads: Type.Array(
    Type.Object({
      path: Type.String(),
      uploadUrl: Type.String({ description: 'Send the bytes there, with the method and headers given.' }),
      method: Type.Literal('PUT'),
      headers: Type.Record(Type.String(), Type.String()),
    }),
    { description: 'The required uploads; each content once.' },
  ),
  bundle: Type.Optional(
    Type.Object(
      {
        url: Type.String(),
        method: Type.Literal('PUT'),
        headers: Type.Record(Type.String(), Type.String()),
        maxBytes: Type.Integer({ description: 'Of one request.' }),
      },
      {
        description:
          'Another way to upload, which is faster for many small files: a tar archive of any of the required files, each named by its SHA-256. GET lists what is missing. Absent when no file is required.',
      },
    ),
  ),
  expiresAt: Type.String({ format: 'date-time' }),
  unchanged: Type.Integer({ description: 'Files of earlier deploys, which need no upload.' }),
})
export type StartedDeploy = Static<typeof StartedDeploy>

/** What the platform found in a build. */
export const ExaminedBuild = Type.Object({
  engine: Type.Union(
    [
      Type.Object({
        name: Type.String({ description: 'Such as `Godot`.' }),
        version: Type.Union([Type.String(), Type.Null()], { description: 'null when the build does not tell it.' }),
      }),
      Type.Null(),
    ],
    { description: 'What it was made with, by its files; null for none that the platform knows.' },
  ),
  notes: Type.Array(Note, {
    description: 'What the platform does for the build, and what will not work. None of it refuses a deploy.',
  }),
})
export type ExaminedBuild = Static<typeof ExaminedBuild>

const examinedBuild = Type.Union([ExaminedBuild, Type.Null()], {
  description: 'What the platform found in its files; null before it is whole.',
})

const Maker = Type.Object({ id: Type.String(), name: Type.String(), imageUrl: Type.String() })

/** Another deploy of the game, which was live before or after the one of an answer. */
export const Replacement = Type.Object({
  deployId: Type.String(),
  player: Type.Union([Maker, Type.Null()], { description: 'null: an account that has ended.' }),
  at: Type.String({ format: 'date-time' }),
})
export type Replacement = Static<typeof Replacement>

export const FinalizedDeploy = Type.Object({
  url: Type.String(),
  playUrl: Type.String(),
  manageUrl: Type.String(),
  auth: Type.Object({
    enabled: Type.Boolean(),
    clientId: Type.String(),
    startUrl: Type.String(),
    sessionUrl: Type.String(),
  }),
  multiplayer: Type.Object({ enabled: Type.Boolean(), url: Type.String(), client: Type.String() }),
  isolation: Isolation,
  build: examinedBuild,
  previewUrl: Type.Optional(Type.String({ description: 'Where a preview is played; only when one was asked for.' })),
  replaced: Type.Optional(
    Type.Object(Replacement.properties, {
      description:
        'The deploy that went live at `at`, after this one had begun, and that this one has replaced. `player` made it. Absent when there is none.',
    }),
  ),
  undoes: Type.Optional(
    Type.Object(Replacement.properties, {
      description:
        'Of a rollback: the deploy that was live until now, since `at`. `player` made it. Absent when nothing has changed.',
    }),
  ),
  replacedBy: Type.Optional(
    Type.Object(Replacement.properties, {
      description: 'The deploy that `player` has put live meanwhile, at `at`; this one is live no longer.',
    }),
  ),
})
export type FinalizedDeploy = Static<typeof FinalizedDeploy>

export const Deploy = Type.Object(
  {
    id: Type.String(),
    gameId: Type.String(),
    state: DeployState,
    by: Type.Union([Maker, Type.Null()], {
      description: 'Who made it; null: an account that has ended.',
    }),
    message: Type.Union([Type.String(), Type.Null()]),
    failure: Type.Union([Type.String(), Type.Null()], { description: 'Why it failed.' }),
    files: Type.Integer({ description: 'How many.' }),
    unchanged: Type.Integer(),
    bytes: Type.Integer(),
    createdAt: Type.String({ format: 'date-time' }),
    expiresAt: Type.String({ format: 'date-time', description: 'When uploads end.' }),
    liveAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    replacedBy: Type.Union([Replacement, Type.Null()], {
      description:
        'The deploy that `player` put live instead of it, at `at`; null: it is live, or never was, or nobody knows any more.',
    }),
    preview: Type.Boolean({
      description: 'It is whole and never was live: people reach it at `previewUrl` only. Its state is `superseded`.',
    }),
    pinned: Type.Boolean({ description: 'Kept however many deploys come after it.' }),
    room: Type.Union([Type.String(), Type.Null()], { description: 'The path of its room script.' }),
    isolation: Type.Union([Isolation, Type.Null()], { description: 'null before it is whole.' }),
    build: examinedBuild,
    previewUrl: Type.Union([Type.String(), Type.Null()], {
      description:
        'Where it is played whether it is live or not; null before it is whole, and where games have no names.',
    }),
  },
  { title: 'Deploy' },
)
export type Deploy = Static<typeof Deploy>

export const DeployChanges = Type.Object(
  { pinned: Type.Boolean({ description: 'Keep it however many deploys come after it.' }) },
  { additionalProperties: false },
)
export const DeployParams = Type.Object({ deployId: Type.String({ maxLength: 30 }) })
export const UploadParams = Type.Object({ deployId: Type.String({ maxLength: 30 }), sha256: Sha256 })
export const MissingFiles = Type.Object({
  missing: Type.Array(Sha256, { description: 'The files that have not arrived, without direct uploads to a bucket.' }),
})
const restartRooms = Type.Boolean({
  default: false,
  description:
    'End the rooms of the live game, so that players come back to rooms with the new script. Otherwise a room keeps its script until it is empty.',
})
export const FinalizeQuery = Type.Object({
  restartRooms,
  allowSecrets: Type.Boolean({
    default: false,
    description:
      'Publish files although they hold a secret that works on this platform. Otherwise the answer is 400 `live_secret` with the files and lines.',
  }),
  preview: Type.Boolean({
    default: false,
    description: 'Publish at a preview address only. The live version stays; `rollback` puts the preview live.',
  }),
})
export const RollbackQuery = Type.Object({ restartRooms })
export const GameParams = Type.Object({ id: Type.String({ maxLength: 63, description: "The game's id or slug." }) })
export const DeployList = pageOf('deploys', Deploy)

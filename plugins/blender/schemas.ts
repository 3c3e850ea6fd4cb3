import Type, { type Static, type TSchema } from 'typebox'
import { PageQuery, pageOf } from '../../core/http/pagination.ts'
import { VISIBLE_PATTERN } from '../../core/visible-text.ts'

/** The plugin's values in `limits`. */
export const BlenderLimits = {
  blenderScriptBytes: Type.Integer({ default: 65_536, minimum: 1, maximum: 1_048_576, description: 'A script.' }),
  blenderQueuedPerOwner: Type.Integer({ default: 10, minimum: 1, description: 'Jobs of one player that wait.' }),
  blenderRunningPerOwner: Type.Integer({ default: 2, minimum: 1, description: 'Jobs of one player that run.' }),
  blenderTimeoutSeconds: Type.Integer({ default: 300, minimum: 5, maximum: 3600, description: 'One job.' }),
  blenderMaxFaces: Type.Integer({ default: 500_000, minimum: 100, description: 'Triangles of one model.' }),
  blenderArtifactBytes: Type.Integer({
    default: 268_435_456,
    minimum: 65_536,
    description: 'One file that a job makes.',
  }),
  blenderLeaseSeconds: Type.Integer({
    default: 30,
    minimum: 2,
    maximum: 600,
    description: 'How long the lease of a worker that died keeps its job from other workers.',
  }),
  blenderKeepDays: Type.Integer({
    default: 30,
    minimum: 1,
    maximum: 36_500,
    description: 'How long a finished job and its files are kept. Assets made from it stay.',
  }),
}
export type BlenderLimits = { [Name in keyof typeof BlenderLimits]: number }

const OneOf = <const Names extends readonly string[]>(names: Names, options: { description?: string } = {}) =>
  Type.Unsafe<Names[number]>(Type.Enum([...names], options))
const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const Time = Type.String({ format: 'date-time' })

export const ACTIONS = ['create', 'revise', 'render', 'inspect', 'export'] as const
export const JobAction = OneOf(ACTIONS)
export type JobAction = (typeof ACTIONS)[number]
export const STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const
export const JobStatus = OneOf(STATUSES)
export type JobStatus = (typeof STATUSES)[number]
export const ARTIFACTS = ['model.glb', 'preview.png', 'inspection.json', 'scene.blend'] as const
export type ArtifactName = (typeof ARTIFACTS)[number]

/** Space for everything but the script, mostly parameters. */
const OTHER_BYTES = 65_536

/** Returns the largest body of a job in bytes: a byte of its script takes up to three, in JSON and in a form. */
export const jobBytes = ({ blenderScriptBytes }: BlenderLimits): number => 3 * blenderScriptBytes + OTHER_BYTES

const Name = Type.String({ minLength: 1, maxLength: 120, pattern: VISIBLE_PATTERN, description: 'For people.' })
const Parameters = Type.Record(Type.String({ maxLength: 60 }), Type.Unknown(), {
  maxProperties: 60,
  description: "Values for the template's parameters, or for the script's own `job.param`.",
})
const Script = Type.String({ description: 'Python that runs inside Blender after the template; see the guide.' })
const Id = Type.String({ maxLength: 40 })
const GameId = Type.String({
  minLength: 1,
  maxLength: 63,
  description: 'The id or slug of a game that you make: its makers see the job, cancel it and go on from it.',
})

export const NewJob = Type.Object({
  name: Name,
  action: Type.Optional(JobAction),
  template: Type.Optional(Id),
  parameters: Type.Optional(Parameters),
  starterAssets: Type.Optional(Type.Array(Id, { maxItems: 20, description: 'Ids from the library, added in order.' })),
  script: Type.Optional(Script),
  sourceJobId: Type.Optional(Type.String({ maxLength: 40, description: 'A completed job whose scene to begin with.' })),
  faceLimit: Type.Optional(Type.Integer({ minimum: 1, description: 'Triangles at most, else the job fails.' })),
  gameId: Type.Optional(GameId),
})
export type NewJob = Static<typeof NewJob>

export const NewAction = Type.Object({
  action: OneOf(['revise', 'render', 'inspect', 'export']),
  script: Type.Optional(Script),
  parameters: Type.Optional(Parameters),
  name: Type.Optional(Name),
})
export type NewAction = Static<typeof NewAction>

export const Artifact = Type.Object({
  name: OneOf(ARTIFACTS),
  size: Type.Integer(),
  contentType: Type.String(),
  sha256: Type.String(),
})
export type Artifact = Static<typeof Artifact>

export const Job = Type.Object(
  {
    id: Type.String(),
    ownerId: Type.String({ description: 'The player who started it.' }),
    gameId: Nullable(Type.String()),
    name: Type.String(),
    action: JobAction,
    status: JobStatus,
    progress: Type.Number({ minimum: 0, maximum: 1 }),
    stage: Nullable(Type.String({ description: 'The current step, in a word or two.' })),
    queuePosition: Nullable(Type.Integer({ description: '1 is next; null when it does not wait.' })),
    template: Nullable(Type.String()),
    parameters: Type.Record(Type.String(), Type.Unknown()),
    starterAssets: Type.Array(Type.String()),
    faceLimit: Type.Integer(),
    sourceJobId: Nullable(Type.String()),
    attempts: Type.Integer(),
    timing: Type.Object({
      queuedAt: Time,
      startedAt: Nullable(Time),
      finishedAt: Nullable(Time),
      runMs: Nullable(Type.Integer()),
    }),
    error: Nullable(Type.Object({ code: Type.String(), message: Type.String() })),
    log: Type.Optional(
      Type.String({ description: 'The last 40 lines of the output of a failed job; only in the answer for one job.' }),
    ),
    artifacts: Type.Array(Artifact),
    assetId: Nullable(Type.String()),
  },
  { title: 'BlenderJob' },
)
export type Job = Static<typeof Job>

export const JobList = pageOf('jobs', Job)
export const JobQuery = Type.Object({
  ...PageQuery.properties,
  status: Type.Optional(JobStatus),
  action: Type.Optional(JobAction),
  gameId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 63,
      description: 'The jobs of a game that you make, by its id or slug, of all its makers.',
    }),
  ),
})
export type JobQuery = Static<typeof JobQuery>
export const JobParams = Type.Object({ id: Type.String({ maxLength: 40 }) })
export const LogQuery = Type.Object({
  tail: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, description: 'Only so many of the last lines.' })),
})
export const ArtifactParams = Type.Object({ id: Type.String({ maxLength: 40 }), name: Type.String({ maxLength: 40 }) })
export const ArtifactList = Type.Object({ artifacts: Type.Array(Artifact) })

export const Capabilities = Type.Object({
  blenderVersion: Nullable(Type.String({ description: 'The version that runs scripts, such as `3.4.1`.' })),
  versionDifferences: Type.Array(Type.Object({ version: Type.String(), text: Type.String() }), {
    description: 'What the common differences between versions of Blender mean for scripts, oldest first.',
  }),
  version: Type.Literal('v1'),
  executor: Type.String(),
  actions: Type.Array(JobAction),
  inputs: Type.Record(Type.String(), Type.Unknown(), { description: 'JSON Schema of a job.' }),
  artifacts: Type.Array(Type.String()),
  limits: Type.Object({
    scriptBytes: Type.Integer(),
    queuedPerOwner: Type.Integer(),
    runningPerOwner: Type.Integer(),
    timeoutSeconds: Type.Integer(),
    maxFaces: Type.Integer(),
    artifactBytes: Type.Integer(),
  }),
})
export type Capabilities = Static<typeof Capabilities>

export const Health = Type.Object({
  executor: Type.String(),
  status: OneOf(['ok', 'incomplete', 'unavailable'], {
    description: 'incomplete: Blender runs, but cannot read and write glTF.',
  }),
  reason: Type.Optional(Type.String()),
  blenderVersion: Nullable(Type.String()),
  capacity: Type.Integer({ description: 'Jobs at once, of all workers together.' }),
  active: Type.Integer(),
  queued: Type.Integer(),
  library: Type.Object({ status: OneOf(['ok', 'damaged']), items: Type.Integer() }),
})
export type Health = Static<typeof Health>

export const Template = Type.Object({
  id: Type.String(),
  version: Type.Integer(),
  title: Type.String(),
  description: Type.String(),
  parameters: Type.Record(Type.String(), Type.Unknown(), { description: 'JSON Schema.' }),
  recommendedStarters: Type.Array(Type.String()),
  guidance: Type.String({ description: 'For authors of scripts on top of it.' }),
  preview: Nullable(Type.String()),
})
export type Template = Static<typeof Template>
export const TemplateList = Type.Object({ templates: Type.Array(Template) })

export const NewGeneration = Type.Object({
  provider: Type.String({ maxLength: 40, description: '`blender`.' }),
  name: Name,
  template: Type.Optional(Id),
  starters: Type.Optional(Type.Array(Id, { maxItems: 20 })),
  parameters: Type.Optional(Parameters),
  script: Type.Optional(Script),
  prompt: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4000,
      description: 'A description of the model: an AI model writes the script, paid with credits.',
    }),
  ),
  visibility: Type.Optional(OneOf(['public', 'private'])),
  gameId: Type.Optional(GameId),
})
export type NewGeneration = Static<typeof NewGeneration>

const GENERATION_STATUSES = ['writing', 'queued', 'running', 'completed', 'failed', 'cancelled'] as const
export type GenerationStatus = (typeof GENERATION_STATUSES)[number]
export const Generation = Type.Object({
  id: Type.String(),
  ownerId: Type.String({ description: 'The player who started it.' }),
  gameId: Nullable(Type.String()),
  status: OneOf(GENERATION_STATUSES),
  name: Type.String(),
  jobId: Nullable(Type.String()),
  assetId: Nullable(Type.String()),
  rounds: Type.Integer({ description: 'How often the model wrote a script, repairs included.' }),
  error: Nullable(Type.Object({ code: Type.String(), message: Type.String() })),
  createdAt: Time,
})
export type Generation = Static<typeof Generation>

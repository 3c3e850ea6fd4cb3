import { defineEntity, p } from '@mikro-orm/core'
import type { Artifact, GenerationStatus, JobAction, JobStatus } from './schemas.ts'

const JobRowSchema = defineEntity({
  name: 'BlenderJobRow',
  tableName: 'blender_jobs',
  properties: {
    id: p.string().length(30).primary(),
    ownerId: p.string().length(30),
    /** The purpose: a player's own job, a job for an asset, or the picture of an asset. */
    purpose: p.string().length(12).$type<'job' | 'generation' | 'thumbnail'>(),
    name: p.string().length(120),
    action: p.string().length(10).$type<JobAction>(),
    status: p.string().length(10).$type<JobStatus>(),
    progress: p.double().$type<number>(),
    stage: p.string().length(200).nullable(),
    template: p.string().length(40).nullable(),
    parameters: p.json<Record<string, unknown>>(),
    starterAssets: p.json<string[]>(),
    faceLimit: p.integer(),
    sourceJobId: p.string().length(30).nullable(),
    /** The number of started runs. */
    attempts: p.integer(),
    /** Its turn in the queue. Jobs run in order of turns, and each owner has one job in a turn; see queue.ts. */
    turn: p.integer(),
    queuedAt: p.datetime(3),
    startedAt: p.datetime(3).nullable(),
    finishedAt: p.datetime(3).nullable(),
    /** Identifies the run. A run that finds another id here has lost the job. */
    leaseId: p.string().length(30).nullable(),
    leaseEndsAt: p.datetime(3).nullable(),
    errorCode: p.string().length(40).nullable(),
    errorMessage: p.text().nullable(),
    artifacts: p.json<Artifact[]>(),
    /** The resulting asset, or the asset of the picture. */
    assetId: p.string().length(30).nullable(),
    /** The generation to which it belongs. */
    generationId: p.string().length(30).nullable(),
    /** The game whose makers may read, cancel and go on from it. */
    gameId: p.string().length(30).nullable(),
  },
  indexes: [
    { properties: ['gameId', 'id'] },
    { properties: ['status', 'turn', 'id'] },
    { properties: ['ownerId', 'status', 'id'] },
    { properties: ['ownerId', 'id'] },
  ],
})

export class JobRow extends JobRowSchema.class {}
JobRowSchema.setClass(JobRow)

/** The long fields of a job in a separate table, so that lists and claims do not read them. */
const JobTextSchema = defineEntity({
  name: 'BlenderJobText',
  tableName: 'blender_job_texts',
  properties: {
    jobId: p.string().length(30).primary(),
    script: p.text().nullable(),
    /** The end of the run's output. */
    log: p.text(),
  },
})

export class JobText extends JobTextSchema.class {}
JobTextSchema.setClass(JobText)

/**
 * One row, `now`, with the turn of the job that started last. Submissions and claims lock it, so that they run one at a
 * time.
 */
const TurnSchema = defineEntity({
  name: 'BlenderTurn',
  tableName: 'blender_turns',
  properties: {
    id: p.string().length(10).primary(),
    turn: p.integer(),
  },
})

export class Turn extends TurnSchema.class {}
TurnSchema.setClass(Turn)

/** Workers: one row for each live process. */
const WorkerRowSchema = defineEntity({
  name: 'BlenderWorkerRow',
  tableName: 'blender_workers',
  properties: {
    id: p.string().length(30).primary(),
    executor: p.string().length(40),
    capacity: p.integer(),
    blenderVersion: p.string().length(40),
    seenAt: p.datetime(3).index(),
  },
})

export class WorkerRow extends WorkerRowSchema.class {}
WorkerRowSchema.setClass(WorkerRow)

/** A request for an asset: one or more jobs, then the asset. */
const GenerationRowSchema = defineEntity({
  name: 'BlenderGenerationRow',
  tableName: 'blender_generations',
  properties: {
    id: p.string().length(30).primary(),
    ownerId: p.string().length(30).index(),
    /** `writing`: the model writes a script. */
    status: p.string().length(10).$type<GenerationStatus>(),
    name: p.string().length(120),
    template: p.string().length(40).nullable(),
    parameters: p.json<Record<string, unknown>>(),
    starters: p.json<string[]>(),
    visibility: p.string().length(10).$type<'public' | 'private'>(),
    /** The game of the jobs and the asset. */
    gameId: p.string().length(30).nullable().index(),
    prompt: p.text().nullable(),
    /** The number of the model's attempts: one, plus one for each repair. */
    round: p.integer(),
    jobId: p.string().length(30).nullable(),
    assetId: p.string().length(30).nullable(),
    errorCode: p.string().length(40).nullable(),
    errorMessage: p.text().nullable(),
    createdAt: p.datetime(3),
  },
})

export class GenerationRow extends GenerationRowSchema.class {}
GenerationRowSchema.setClass(GenerationRow)

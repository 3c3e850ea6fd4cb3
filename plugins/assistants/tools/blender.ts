import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import Type from 'typebox'
import { AnswerWithPictures, type Arguments, defineTools, type ToolCall } from '../tool.ts'

/** A client without progress gives up after a minute, so it gets the job as it is before. */
const PATIENCE_MS = 45_000
/** No job takes longer (`limits.blenderTimeoutSeconds`), but one may wait for its turn. */
const LONGEST_MS = 3_600_000
const LOOK_MS = 500
const MOST_PICTURE_BYTES = 1024 * 1024

const Wait = Type.Optional(
  Type.Boolean({ description: 'Wait for the end of the job, as long as the client waits; default true.' }),
)

export const blenderTools = defineTools([
  {
    name: 'blender_templates',
    title: 'List the Blender templates',
    route: 'GET /api/blender/v1/templates',
    description:
      'Lists the scenes with which Blender jobs begin, with the JSON Schema of their parameters and guidance for scripts.',
    effect: 'reads',
    call: async ({ app }) => ({ templates: app.blender.templates.list() }),
  },
  {
    name: 'blender_starters',
    title: 'List the Blender starters',
    route: 'GET /api/blender/v1/library',
    description: 'Lists finished parts that a Blender job can begin with (`starterAssets`).',
    effect: 'reads',
    call: async ({ app }) => ({ starters: app.blender.library.list() }),
  },
  {
    name: 'blender_submit',
    title: 'Run a Blender job',
    route: 'POST /api/blender/v1/jobs',
    description:
      'Makes a 3D model in Blender, from a template, starters or a Python script, and returns the job with a picture of the result. Its files go into a game by `from` of deploy_files, and into the library by `from` of asset_upload. Cancelling the call cancels the job.',
    effect: 'adds',
    also: { wait: Wait },
    call: async (call, { wait = true, ...job }) => {
      const { app, playerId } = call
      const { id } = await app.blender.submit(playerId, job)
      if (!wait) return app.blender.get(playerId, id)
      return follow(call, id, { cancelWith: true })
    },
  },
  {
    name: 'blender_job',
    title: 'Look at a Blender job',
    route: 'GET /api/blender/v1/jobs/:id',
    description: 'Returns a job with its progress, files and error; with `wait` at its end.',
    effect: 'reads',
    reportsProgress: true,
    also: { wait: Type.Optional(Type.Boolean({ description: 'Wait for its end; default false.' })) },
    call: (call, { id, wait = false }) =>
      wait ? follow(call, id, { cancelWith: false }) : withPicture(call, call.app.blender.get(call.playerId, id)),
  },
  {
    name: 'blender_cancel',
    title: 'Cancel a Blender job',
    route: 'POST /api/blender/v1/jobs/:id/cancel',
    description: 'Cancels a job that waits or runs. What it has made so far is lost.',
    effect: 'replaces',
    repeatable: true,
    confirm: ({ id }) => `Cancel the Blender job ${id}?`,
    call: ({ app, playerId }, { id }) => app.blender.cancel(playerId, id),
  },
])

/**
 * Waits for the end of a job and reports its progress. When the server stops, the job stays in the queue, and the
 * caller gets it as it is.
 *
 * @param cancelWith whether the job ends with the call
 */
async function follow(call: ToolCall, id: string, { cancelWith }: { cancelWith: boolean }): Promise<unknown> {
  const { app, playerId, signal, showsProgress } = call
  const until = performance.now() + (showsProgress ? LONGEST_MS : PATIENCE_MS)
  let told = ''
  for (;;) {
    const job = await app.blender.get(playerId, id)
    if (job.status !== 'queued' && job.status !== 'running') return withPicture(call, job)
    const step = job.stage ?? (job.queuePosition ? `place ${job.queuePosition} in the queue` : job.status)
    if (told !== `${job.progress} ${step}`) await call.progress(job.progress, step)
    told = `${job.progress} ${step}`
    if (performance.now() > until || app.health.draining) return job
    await delay(LOOK_MS, undefined, { signal }).catch(() => {})
    if (signal.aborted) return cancelWith ? app.blender.cancel(playerId, id) : job
  }
}

/** Adds the preview of a finished job to the answer. */
async function withPicture({ app, playerId }: ToolCall, found: Arguments): Promise<unknown> {
  const job = await found
  const preview = job.artifacts.find((artifact: { name: string }) => artifact.name === 'preview.png')
  if (!preview || preview.size > MOST_PICTURE_BYTES) return job
  const { read } = await app.blender.openArtifact(playerId, job.id, preview.name)
  return new AnswerWithPictures(job, [{ bytes: await buffer(await read()), contentType: preview.contentType }])
}

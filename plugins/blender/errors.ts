import { defineError } from '../../core/errors.ts'

export const BlenderNotConfigured = defineError('blender_not_configured', 503, 'No Blender runs jobs here: %s')
export const QueueFull = defineError('queue_full', 409, 'You have %s jobs waiting already; wait until one has begun.')
export const NotCompleted = defineError(
  'conflict',
  409,
  'This job has not completed, so there is nothing to go on from.',
)
export const NotCancellable = defineError('conflict', 409, 'This job is over: %s.')

export const UnsupportedProvider = defineError(
  'unsupported_provider',
  400,
  'Only the provider blender makes assets here, not %s.',
)

/** Why a job failed: `error.code` of a job, and what to say when nobody knows better. */
export const FAILURES = {
  script_error: 'The script failed.',
  template_error: 'The template failed with these parameters.',
  export_error: 'Blender could not write the result.',
  empty_scene: 'There is no mesh with a face in the scene.',
  face_limit: 'The scene has more triangles than its limit.',
  timeout: 'The job took longer than it may.',
  limit_exceeded: 'The job used more than it may.',
  invalid_artifact: 'A file of the result is not what its name says.',
  crashed: 'Blender ended before it was done.',
  worker_lost: 'The worker was lost twice while it ran this job.',
} as const
export type FailureCode = keyof typeof FAILURES

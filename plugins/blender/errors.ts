import { defineError } from '../../core/errors.ts'

export const BlenderNotConfigured = defineError('blender_not_configured', 503, 'This server runs no Blender jobs: %s')
export const BlenderIncomplete = defineError('blender_incomplete', 503, '%s')
export const QueueFull = defineError('queue_full', 409, 'You already have %s waiting jobs; wait until one has begun.')
export const NotCompleted = defineError('conflict', 409, 'This job has not completed, so it cannot be continued.')
export const NotCancellable = defineError('conflict', 409, 'This job is over: %s.')

export const NotOver = defineError('conflict', 409, 'This job is not over, or another goes on from its scene.')

export const UnsupportedProvider = defineError(
  'unsupported_provider',
  400,
  'Only the provider blender makes assets, not %s.',
)

/** The reasons of failed jobs: `error.code` of a job, with the default message. */
export const FAILURES = {
  script_error: 'The script failed.',
  template_error: 'The template failed with these parameters.',
  export_error: 'Blender could not write the result.',
  empty_scene: 'There is no mesh with a face in the scene.',
  face_limit: 'The scene has more triangles than its limit.',
  timeout: 'The job exceeded its time limit.',
  limit_exceeded: 'The job exceeded one of its limits.',
  invalid_artifact: 'A file of the result does not have the type of its name.',
  blender_incomplete:
    'Blender on this server can’t write glTF: its Python has no numpy. The administrator of the server can install the package python3-numpy.',
  crashed: 'Blender ended before the job was done.',
  worker_lost: 'The worker was lost twice while it ran this job.',
} as const
export type FailureCode = keyof typeof FAILURES

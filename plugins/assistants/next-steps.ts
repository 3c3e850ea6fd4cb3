import type { PlatformError } from '../../core/errors.ts'
import { FAILURES, type Failure } from '../../drivers/ai/interface.ts'

/** What an assistant can do after an error, by its code. `%portal` is the address of the platform. */
const STEPS: Record<string, string> = {
  missing_scope:
    'Ask the person to connect again and allow this scope, or to make a token with it at %portal/settings/tokens.',
  quota_exceeded: 'Nothing was changed. The person can delete things at %portal/settings/storage.',
  insufficient_credits: 'Nothing was charged. The person can buy credits at %portal/credits.',
  live_secret: 'Take the secret out of the files and call again. Only a person can publish it, by gameyard deploy.',
  incomplete_deploy: 'Nothing went live. Send the missing files again with deploy_files.',
  rate_limited: 'Wait as many seconds as the message says, then call again.',
  ai_not_configured: 'This platform has no such AI model. Go on without it, and tell the person.',
  blender_not_configured: 'This platform runs no Blender. Look for a finished model with assets_search instead.',
  storage_full: 'The disk of the platform is full. Tell the person; trying again will not help now.',
  upstream_error: 'The provider failed. Nothing was charged; try again later.',
}

/** The tool that lists the things of a kind, by the word in `There is no such …`. */
const LISTS: Record<string, string> = {
  game: 'games_list has the games that you may use.',
  deploy: 'deploys_list has the deploys of a game.',
  'deploy of this game': 'deploys_list has the deploys of a game.',
  file: 'game_files has the paths of a build.',
  asset: 'assets_search has the assets that you may use; with `owner: "me"` your own.',
  clip: 'asset_get has the clips of a model.',
  artifact: 'blender_job has the files of a job.',
}

const nounOf = (message: string): string => /^There is no such ([a-z ]+)\.$/.exec(message)?.[1] ?? ''

/** Returns what to do next after an error; undefined where the message says all there is. */
export function nextStep({ code, message, details, body }: PlatformError, portal: string): string | undefined {
  const failure = FAILURES[body?.reason as Failure] as { passing: boolean } | undefined
  if (failure && !failure.passing) return 'Nothing was charged. The same call would fail again.'
  if (code === 'invalid_request' && details?.length) return 'Correct the named arguments, then call again.'
  if (code === 'not_found') return LISTS[nounOf(message)]
  return STEPS[code]?.replaceAll('%portal', portal)
}

/**
 * What helps after an answer of the platform, by the code of the error. The platform's own messages are for every client,
 * so they name routes and pages; these name the command.
 */
export const HINTS: Readonly<Record<string, string>> = {
  rate_limited: 'Wait a minute and try again.',
  storage_full: "The platform's disk is full: its host has to make room. Nothing was lost.",
  quota_exceeded: 'What you store, and how much you may: gameyard usage',
  too_many_tokens: 'List them, and revoke what you no longer use: gameyard tokens list',
  live_secret: 'To publish it nevertheless: gameyard deploy --allow-secret',
  deploy_expired: 'Start again: gameyard deploy',
  incomplete_deploy: 'Start again: gameyard deploy',
  slug_taken: 'Choose another with --slug. To change it later: gameyard games update GAME --slug ADDRESS',
  slug_reserved: 'Choose another with --slug. To change it later: gameyard games update GAME --slug ADDRESS',
  domain_not_verified: 'Show the records that its DNS needs: gameyard games domains list',
  domain_exists: 'Check its DNS now: gameyard games domains verify DOMAIN',
  too_many_domains: 'Give one up: gameyard games domains remove DOMAIN',
  too_many_boards: 'Remove one: gameyard games boards remove BOARD',
  board_has_scores: 'Remove the board and its scores: gameyard games boards remove BOARD',
  owner_only: 'See who owns it: gameyard games members',
  not_a_maker: 'See who makes it: gameyard games members',
  queue_full: 'See what waits, and cancel what you no longer need: gameyard blender jobs',
  too_many_clips: 'Show the clips of a model: gameyard assets get ASSET',
  blender_not_configured: 'Show what the platform has: gameyard blender health',
}

/** The command that lists the things of a kind, by the word in `There is no such …`. */
export const LISTS: Readonly<Record<string, string>> = {
  game: 'gameyard games list',
  asset: 'gameyard assets list --mine',
  board: 'gameyard games boards list',
  domain: 'gameyard games domains list',
  member: 'gameyard games members',
  job: 'gameyard blender jobs',
  artifact: 'gameyard blender artifacts JOB',
  deploy: 'gameyard rollback --list',
  'animation preset': 'gameyard assets animate --help',
}

/** Returns what helps after an error with this code and message; '' for one that says all itself. */
export function hintFor({ code, message }: { code: string; message: string }): string {
  const [, thing = ''] = /^There is no such ([a-z ]+)\.$/.exec(message) ?? []
  if (code === 'not_found' && Object.hasOwn(LISTS, thing)) return `List those that there are: ${LISTS[thing]}`
  return Object.hasOwn(HINTS, code) ? (HINTS[code] as string) : ''
}

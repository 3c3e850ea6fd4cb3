import type { Test } from 'tap'
import { type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'

/** Starts a platform with an administrator, a moderator, an owner with a game, and somebody who reports. */
export async function openModeration(t: Test, options: Parameters<typeof startPlatform>[1] = {}) {
  const platform = await startPlatform(t, options)
  const admin = await platform.admin()
  const moderator = await platform.signUp({ name: 'Mo' })
  await platform.app.identity.administration.setRole(moderator.id, 'moderator')
  const [owner, reporter] = [await platform.signUp({ name: 'Olga' }), await platform.signUp({ name: 'Rita' })]
  const game = await platform.game(owner)
  return { platform, admin, moderator, owner, reporter, game, ...helpers(platform) }
}

function helpers(platform: Platform) {
  const { app } = platform
  return {
    report: (by: Pick<PlayerClient, 'post'>, id: string, fields: Record<string, string> = {}) =>
      by.post('/api/reports', {
        target: { kind: id.startsWith('gam') ? 'game' : id.startsWith('ast') ? 'asset' : 'player', id },
        category: 'spam',
        text: 'It only advertises.',
        ...fields,
      }),
    /** Returns the actions of the audit, newest first. */
    audited: async () =>
      (await app.db.query<{ action: string }>('select action from audit order by id desc')).map(({ action }) => action),
    states: async () =>
      (await app.db.query<{ state: string }>('select state from reports order by id')).map(({ state }) => state),
    /** Tells about a decision now, as its job does ten minutes later. */
    tell: (decisionId: string) => app.moderation.outcomes.tell(decisionId),
  }
}

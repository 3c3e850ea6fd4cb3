import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'
import { build, deploy } from '../deploy/build.ts'

t.test('the data export has what a player did in games of others', async (t) => {
  const platform = await startPlatform(t)
  const [owner, maker] = [await platform.signUp({ name: 'Olu' }), await platform.signUp({ name: 'Mae' })]
  const game = await platform.game(owner, { title: 'Duo' })
  const own = await platform.game(maker, { title: 'Solo' })
  const program = await platform.program(maker)
  const invite = (fields = {}) =>
    owner.post(`/api/games/${game.id}/invitations`, { role: 'maker', playerId: maker.id, ...fields })
  await maker.submit(new URL((await invite()).body.url).pathname, {})
  const { deployId } = await deploy(platform, program, game.id, build('one'), 'Mine')
  await deploy(platform, program, own.id, build('two'))

  const of = async (player: typeof owner) => (await player.get('/settings/export')).body
  const exported = await of(maker)
  t.match(exported.memberships, [{ gameId: game.id, role: 'maker', since: /^20/ }])
  t.match(exported.invitations, [{ direction: 'received', gameId: game.id, role: 'maker' }])
  t.match(exported.deploysInOthersGames, [{ id: deployId, gameId: game.id, message: 'Mine' }])
  t.equal(exported.deploysInOthersGames.length, 1)
  const done = exported.activityInOthersGames.map(({ gameId, action }: Record<string, string>) => [gameId, action])
  t.same(done, [
    [game.id, 'member.join'],
    [game.id, 'deploy.live'],
  ])
  const ofOwner = await of(owner)
  t.match(ofOwner.invitations, [{ direction: 'sent', playerId: maker.id, email: null }])
  t.same([ofOwner.memberships, ofOwner.activityInOthersGames, ofOwner.deploysInOthersGames], [[], [], []])
  t.ok(ofOwner.activity.length > 0, 'that of own games is beside it')
})

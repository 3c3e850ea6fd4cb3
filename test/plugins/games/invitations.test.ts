import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'

const only = ['oauth-idp', 'tokens', 'quotas', 'games']

t.test('a link of an earlier version makes testers of a private game, until its owner takes it back', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app } = platform
  const [owner, friend, other] = [await platform.signUp(), await platform.signUp(), await platform.signUp()]
  const game = await platform.game(owner, { title: 'Secret', visibility: 'private' })
  const linkIn = (text: string) =>
    /invitation link"><code>http:\/\/localhost:8080(\/games\/secret\/join\/[\w-]{22})</.exec(text)?.[1]
  t.equal(linkIn((await owner.get('/games/secret/team')).text), undefined, 'new games have none')
  await app.db.execute('update games set invite_key = ? where id = ?', ['0123456789abcdefghij-_', game.id])
  const link = linkIn((await owner.get('/games/secret/team')).text) ?? ''
  t.ok(link)

  t.match(await platform.stranger.get(link), { status: 303, headers: { location: /^\/sign-in/ } })
  t.match(await friend.get(link), { status: 200, text: /invites you/ })
  t.equal((await friend.get('/games/secret')).status, 404, 'looking at it is not joining')
  t.match(await friend.submit(link, {}), { status: 303, headers: { location: /^\/games\/secret$/ } })
  t.match(await friend.submit(link, {}), { status: 303 }, 'twice is once')
  t.equal((await friend.get('/games/secret')).status, 200)
  const known = await app.games.bySlug('secret')
  t.ok(known && app.games.visibleTo(friend.id, known), 'for the game origin too')
  t.notOk(known && app.games.visibleTo(other.id, known))
  t.equal((await other.get('/games/secret')).status, 404)
  t.equal((await (await platform.program(friend)).get(`/api/games/${game.id}`)).status, 404, 'it is not theirs')
  t.same((await platform.stranger.get('/api/catalog/games')).body.games, [])
  t.match((await owner.get(`/api/games/${game.id}/members`)).body.members, [
    { role: 'owner' },
    { role: 'tester', player: { id: friend.id }, since: /^20/ },
  ])
  const answer = (await (await platform.program(owner)).get(`/api/games/${game.id}`)).text
  t.notMatch(answer, friend.id, 'the API tells nobody who they are')
  t.notMatch(answer, /invite/i)

  for (const wrong of [`${link}x`, link.slice(0, -1), '/games/secret/join/', '/games/secret/join/null']) {
    t.equal((await other.submit(wrong, {})).status, 404, wrong)
  }
  for (const approval of ['waiting', null]) {
    await app.db.execute('update games set approval = ? where id = ?', [approval, game.id])
    await app.games.announce(game)
    t.equal((await other.get(link)).status, approval ? 404 : 200, 'and nowhere while the game waits for staff')
  }
  await owner.patch(`/api/games/${game.id}`, { slug: 'renamed' })
  t.equal((await other.get(link)).status, 200, 'it leads to the game at its new address too')
  t.equal((await other.get(`${link}x`)).status, 404)
  t.match(await friend.get(link), { status: 302, headers: { location: link.replace('secret', 'renamed') } })
  await owner.patch(`/api/games/${game.id}`, { slug: 'secret' })
  const takeBack = () => owner.submit('/games/secret/team/revoke', { invitation: 'earlier' })
  t.match(await takeBack(), { status: 303 })
  t.equal((await other.submit(link, {})).status, 404, 'the link has ended')
  t.equal((await friend.get('/games/secret')).status, 200, 'who is in stays in')
  t.equal(linkIn((await owner.get('/games/secret/team')).text), undefined)
  t.equal((await takeBack()).status, 404)
  t.match((await owner.get('/games/secret/settings')).text, /href="\/games\/secret\/team">Invite testers</)
  t.equal((await owner.delete(`/api/games/${game.id}/members/${friend.id}`)).status, 204)
  t.equal((await friend.get('/games/secret')).status, 404)
})
